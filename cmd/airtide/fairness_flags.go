package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"airtide/internal/lab/score"
	"airtide/internal/share/allocate"
	"airtide/internal/units"
)

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil || strings.HasSuffix(path, ".atr")
}

// sourceGiven checks that rates come from one place, and reads the flags that do not depend on it.
func (f *fairnessFlags) sourceGiven(args []string) (err error) {
	figures := len(args) > 0 && f.result == "" && !(len(args) == 1 && isFile(args[0]))
	switch {
	case f.result != "" && len(args) > 0:
		return fmt.Errorf("--result and %q: give one of them", args[0])
	case f.result == "" && len(args) == 0:
		return errors.New("no rates: give numbers, a recording, or --result")
	case figures && f.by != "":
		return errors.New("--by needs a recording or --result")
	case f.least != "" && (figures || f.result != ""):
		return errors.New("--least needs a recording")
	}
	f.options.Alpha, err = allocate.ParseAlpha(f.alpha)
	if err != nil {
		return fmt.Errorf("--alpha %w", err)
	}
	for _, text := range f.weights {
		w, ok := units.ParseNumber(strings.TrimSpace(text))
		if !ok || w == 0 {
			return fmt.Errorf("--weights %q: want numbers above 0", text)
		}
		f.options.Weights = append(f.options.Weights, w)
	}
	if figures {
		return nil
	}
	if f.least != "" {
		f.leastRate, _, err = parseRate(f.least)
		if err != nil {
			return fmt.Errorf("--least: %w", err)
		}
	}
	f.options.Unit = mbits
	return f.readRates("")
}

// figures reads rates from the command line. An argument may hold several, separated by commas.
func (f *fairnessFlags) figures(args []string) (score.Score, error) {
	var texts []string
	for _, arg := range args {
		texts = append(texts, strings.Split(arg, ",")...)
	}
	one := score.Score{Of: "terminal"}
	for i, text := range texts {
		v, unit, err := parseRate(text)
		switch {
		case err != nil:
			return one, err
		case i > 0 && unit != f.options.Unit:
			return one, errors.New("some rates have a unit and some have none: give all or none a unit")
		}
		f.options.Unit = unit
		one.Names = append(one.Names, strconv.Itoa(i+1))
		one.Rates = append(one.Rates, v)
	}
	return one, f.readRates(f.options.Unit)
}

// readRates reads --max and --capacity. If asked is empty, numbers without a unit are in the unit
// of the rates.
func (f *fairnessFlags) readRates(asked string) error {
	for _, text := range f.max {
		v, unit, err := parseRate(text)
		if err != nil || v == 0 {
			return fmt.Errorf("--max %q: want rates above 0, such as 400 or 400Mbit", text)
		}
		if err := f.sameUnit("max", unit, asked); err != nil {
			return err
		}
		f.options.Alone = append(f.options.Alone, v)
	}
	if f.capacity == "" {
		return nil
	}
	v, unit, err := parseRate(f.capacity)
	if err != nil || v == 0 {
		return fmt.Errorf("--capacity %q: want a rate above 0, such as 100 or 100Mbit", f.capacity)
	}
	f.options.Wire = v
	return f.sameUnit("capacity", unit, asked)
}

func (f *fairnessFlags) sameUnit(flag, unit, asked string) error {
	if unit == f.options.Unit || unit == asked {
		return nil
	}
	if f.options.Unit == "" {
		return fmt.Errorf("--%s has a unit and the rates have none: give all or none a unit", flag)
	}
	return fmt.Errorf("--%s has no unit and the rates have one: give all or none a unit", flag)
}

// mbits is the unit of rates with a unit.
const mbits = "Mbit/s"

// parseRate reads a number: in Mbit/s if it has a unit, otherwise as it is.
func parseRate(text string) (v float64, unit string, err error) {
	text = strings.TrimSpace(text)
	if v, ok := units.ParseNumber(text); ok {
		return v, "", nil
	}
	rate, err := units.ParseRate(text)
	if bad, ok := errors.AsType[*units.SyntaxError](err); ok {
		if bad.Meant != "" {
			return 0, "", fmt.Errorf("%q: did you mean %s?", text, bad.Meant)
		}
		return 0, "", fmt.Errorf("%q is neither a rate, such as 30 or 30 Mbit/s, nor a file", text)
	}
	return float64(rate) / 1e6, mbits, err
}
