package screen

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Run shows the table on the full screen until the user quits or the context is done, which is no
// error. It returns the source's error as soon as the source fails. The terminal is restored in
// every case.
func Run(ctx context.Context, t *Table, o Options) error {
	o = o.complete(500 * time.Millisecond)
	// Signals end the context. A second handler in the program would compete for them: the sender
	// that comes last waits forever, because the program has ended and reads no more messages.
	options := []tea.ProgramOption{tea.WithOutput(o.Output), tea.WithoutSignalHandler()}
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
	if err != nil {
		return fmt.Errorf("drawing the screen: %w", err)
	}
	return nil
}
