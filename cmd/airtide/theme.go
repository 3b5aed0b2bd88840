package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/view/figure"
)

// themeFlag is --theme, the colours of figures.
type themeFlag string

func (f *themeFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "theme", "light", "colours of figures: light, print (black and grey) or dark")
	fixed(cmd, "theme", figure.ThemeNames...)
}

// find returns the theme.
func (f themeFlag) find() (*figure.Theme, error) {
	name := string(f)
	t, err := figure.ThemeOf(name)
	if err != nil {
		return nil, misnamed(err, name, figure.ThemeNames)
	}
	return t, nil
}
