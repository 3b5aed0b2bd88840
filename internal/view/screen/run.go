package screen

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Run shows the table on the full screen until the user quits or the context is done, which is no
// error. It returns the source's error as soon as the source fails. The terminal is restored in
// every case.
func Run(ctx context.Context, t *Table, o Options) error {
	o = o.complete(500 * time.Millisecond)
	options := []tea.ProgramOption{tea.WithOutput(o.Output)}
	if o.Input != nil {
		options = append(options, tea.WithInput(o.Input))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := tea.NewProgram(newUI(t, o, colourWanted()), options...)
	ended := make(chan error, 1)
	go func() {
		err := o.run(ctx, t)
		ended <- err
		p.Send(endedMsg{err})
	}()
	go func() {
		<-ctx.Done()
		p.Quit()
	}()
	_, err := p.Run()
	cancel()
	sourceErr := <-ended
	if sourceErr != nil {
		return sourceErr
	}
	if err != nil && !errors.Is(err, tea.ErrInterrupted) {
		return fmt.Errorf("drawing the screen: %w", err)
	}
	return nil
}
