package tune

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
)

// tuner applies what its environment says, tells the number, and waits to be killed.
func tuner() {
	var order struct {
		Selection Selection
		Settings  Settings
		Options   Options
	}
	if err := json.Unmarshal([]byte(os.Getenv("AIRTIDE_TUNE_TEST_ORDER")), &order); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a, err := Apply(ctx, order.Selection, order.Settings, order.Options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.ID)
	<-ctx.Done()
	fmt.Println(a.Close())
}
