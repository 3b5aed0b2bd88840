package timewarp

// canScaleCubic says why not.
func (k *Kernel) canScaleCubic() error {
	if err := k.loadCubic(Ratio{2, 1}); err != nil {
		return err
	}
	return k.unloadCubic()
}
