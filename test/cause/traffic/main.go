// The traffic command makes the TCP traffic of one situation with a known cause. Its two ends run
// in two network namespaces; package cause starts them.
//
//	traffic server PLAN           # PLAN is cause.Plan as JSON; it prints "ready" when it listens
//	traffic client ADDRESS PLAN
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"airtide/test/cause"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want server PLAN or client ADDRESS PLAN, got %q", args)
	}
	var plan cause.Plan
	if err := json.Unmarshal([]byte(args[len(args)-1]), &plan); err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	if args[0] == "server" {
		return plan.Serve(os.Stdout)
	}
	return plan.Drive(args[1])
}
