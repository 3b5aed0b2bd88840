package units

import (
	"encoding"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

type quantity interface {
	encoding.TextUnmarshaler
	encoding.TextMarshaler
	fmt.Stringer
}

func TestQuantitiesAreReadAndPrinted(t *testing.T) {
	for _, c := range []struct {
		into    quantity
		text    string
		printed string
	}{
		{new(Rate), "54 Mbit/s", "54 Mbit/s"},
		{new(Rate), "72.2Mbit/s", "72.2 Mbit/s"},
		{new(Rate), "400Mbit", "400 Mbit/s"},
		{new(Rate), "20M", "20 Mbit/s"},
		{new(Rate), "1 Gbps", "1 Gbit/s"},
		{new(Rate), "1e3 kbit/s", "1 Mbit/s"},
		{new(Rate), "2 T", "2 Tbit/s"},
		{new(Rate), "10 bit", "10 bit/s"},
		{new(Rate), "0", "0 bit/s"},
		{new(Rate), "433.333333 Mbit/s", "433.333333 Mbit/s"},
		{new(Duration), "20 ms", "20 ms"},
		{new(Duration), "0.5 s", "500 ms"},
		{new(Duration), "2 min", "120 s"},
		{new(Duration), "2m", "120 s"},
		{new(Duration), "1m30s", "90 s"},
		{new(Duration), "1h 2 min 3.5 s", "3723.5 s"},
		{new(Duration), "5µs", "5 us"},
		{new(Duration), "0", "0 s"},
		{new(Size), "64 kB", "64 kB"},
		{new(Size), "64 KiB", "64 KiB"},
		{new(Size), "65536 B", "64 KiB"},
		{new(Size), "2 MiB", "2 MiB"},
		{new(Size), "2.5 MiB", "2.5 MiB"},
		{new(Size), "1 MB", "1 MB"},
		{new(Size), "87380 B", "87.38 kB"},
		{new(Size), "1023 B", "1.023 kB"},
		{new(Size), "1025 B", "1.025 kB"},
		{new(Size), "1e3 B", "1 kB"},
		{new(Share), "0.2 %", "0.2 %"},
		{new(Share), "0.002", "0.2 %"},
		{new(Share), "1", "100 %"},
	} {
		if err := c.into.UnmarshalText([]byte(c.text)); err != nil || c.into.String() != c.printed {
			t.Errorf("%q is read as %s (%v), expected %s", c.text, c.into, err, c.printed)
		}
		marshalled, err := c.into.MarshalText()
		if err != nil || c.into.UnmarshalText(marshalled) != nil || c.into.String() != c.printed {
			t.Errorf("%s is read again as %s", marshalled, c.into)
		}
	}
}

func TestOtherTextsAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "fast", "54", "54 baud", "-1 ms", "+1 s", "1 ms ms", "1. ms", ".5 s", "99999999999 Gbit/s", "NaN",
		"Inf s", "0x1p4 s", "1e s", "1e99 s", "1m30", "150 %", "1_000 s",
	} {
		for _, q := range []quantity{new(Rate), new(Duration), new(Size), new(Share)} {
			err := q.UnmarshalText([]byte(text))
			if _, ok := errors.AsType[*SyntaxError](err); !ok {
				t.Errorf("%q gives the %T %v and the error %v", text, q, q, err)
			}
		}
	}
}

func TestWrongUnitsAreCorrected(t *testing.T) {
	for _, c := range []struct {
		into        quantity
		text, meant string
	}{
		{new(Rate), "30mbit", "30 Mbit/s"},
		{new(Rate), "30 MBit/s", "30 Mbit/s"},
		{new(Rate), "1.5 Mb/s", "1.5 Mbit/s"},
		{new(Rate), "20m", "20 Mbit/s"},
		{new(Size), "64k", "64 kB"},
		{new(Size), "64 KB", "64 kB"},
		{new(Size), "2 mib", "2 MiB"},
		{new(Duration), "20 MS", "20 ms"},
		{new(Duration), "3 seconds", "3 s"},
		{new(Duration), "3 parsecs", ""},
		{new(Share), "200 %", ""},
	} {
		err := c.into.UnmarshalText([]byte(c.text))
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok || e.Meant != c.meant {
			t.Errorf("%q: %v, expected the suggestion %q", c.text, err, c.meant)
		}
		if c.meant != "" && c.into.UnmarshalText([]byte(c.meant)) != nil {
			t.Errorf("the suggestion %q is refused", c.meant)
		}
	}
	_, err := ParseRate("30mbit")
	want := `"30mbit": want a rate in bit/s, kbit/s, Mbit/s or Gbit/s, such as 54 Mbit/s (did you mean 30 Mbit/s?)`
	if err.Error() != want {
		t.Errorf("%v, expected %s", err, want)
	}
}

func TestBufferSizesHavePrefixesOf1024(t *testing.T) {
	for text, want := range map[string]Size{
		"256k": 262144, "1M": 1 << 20, "2.5k": 2560, "1e6": 1e6,
		"4096": 4096, "256 kB": 256_000, "256 KiB": 262144, "0": 0,
	} {
		if got, err := ParseBufferSize(text); err != nil || got != want {
			t.Errorf("%s is %d (%v), expected %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "1T", "256K", "0x10"} {
		if got, err := ParseBufferSize(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

func TestQuantityKnowsItsUnit(t *testing.T) {
	for text, want := range map[string]Quantity{
		"5": {5, "", 5}, "2.5": {2.5, "", 2.5}, "20 ms": {20, "ms", 0.02}, "1m30s": {90, "", 90},
		"100 packets": {100, "packets", 100}, "54 Mbit/s": {54, "Mbit/s", 54e6},
		"20M": {20, "M", 20e6}, "64 KiB": {64, "KiB", 65536},
		"0.2 %": {0.2, "%", 0.002},
	} {
		if got, ok := ParseQuantity(text); !ok || got != want {
			t.Errorf("%q is %+v, expected %+v", text, got, want)
		}
	}
	for _, text := range []string{"", "cubic", "NaN", "-5", "Inf", "20 apples"} {
		if got, ok := ParseQuantity(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestPatternsMatchReadableTexts(t *testing.T) {
	for pattern, texts := range map[string][]string{
		RatePattern: {"54 Mbit/s", "20M", "1 Gbps", "0"},
		SizePattern: {"64 KiB", "1.5 MB"}, DurationPattern: {"20 ms", "1m30s", "5µs"},
	} {
		r := regexp.MustCompile(pattern)
		for _, text := range texts {
			if !r.MatchString(text) {
				t.Errorf("%s does not match %q", pattern, text)
			}
		}
		if r.MatchString("54") || r.MatchString("54 baud") || r.MatchString("") {
			t.Errorf("%s matches other texts", pattern)
		}
	}
}

func TestFlagsReadWhatUsersWrite(t *testing.T) {
	var (
		rate   Rate
		bits   uint64
		d      time.Duration
		buffer uint32
		number float64
	)
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.Var(RateFlag(&rate), "rate", "")
	fs.Var(BitRateFlag(&bits), "bits", "")
	fs.Var(DurationFlag(&d), "time", "")
	fs.Var(BufferSizeFlag(&buffer), "buffer", "")
	fs.Var(NumberFlag(&number), "number", "")
	for _, c := range []struct{ flag, text, printed string }{
		{"rate", "20M", "20 Mbit/s"},
		{"rate", "1 Gbps", "1 Gbit/s"},
		{"bits", "20M", "20 Mbit/s"},
		{"bits", "1e6", "1 Mbit/s"},
		{"time", "5", "5 s"},
		{"time", "0.25", "250 ms"},
		{"time", "10 ms", "10 ms"},
		{"time", "1m30s", "90 s"},
		{"time", "0", ""},
		{"buffer", "256k", "256 KiB"},
		{"buffer", "256 kB", "256 kB"},
		{"buffer", "4096", "4 KiB"},
		{"number", "2.5", "2.5"},
		{"number", "0", ""},
	} {
		err := fs.Parse([]string{"--" + c.flag, c.text})
		if got := fs.Lookup(c.flag).Value.String(); err != nil || got != c.printed {
			t.Errorf("--%s %q is read as %q (%v), expected %q", c.flag, c.text, got, err, c.printed)
		}
	}
}

func TestFlagsKeepTheirDefaultAfterAnError(t *testing.T) {
	rate := Rate(1)
	bits := uint64(1)
	d := time.Second
	buffer := uint32(1)
	number := 1.0
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.Var(RateFlag(&rate), "rate", "")
	fs.Var(BitRateFlag(&bits), "bits", "")
	fs.Var(DurationFlag(&d), "time", "")
	fs.Var(BufferSizeFlag(&buffer), "buffer", "")
	fs.Var(NumberFlag(&number), "number", "")
	for flag, texts := range map[string][]string{
		"rate": {"", "0", "400", "-1M", "30mbit"}, "bits": {"", "0", "fast", "-1M", "0.1", "1e99"},
		"time": {"", "soon", "-1s", "1e99", "10 parsecs"}, "buffer": {"", "0", "5G", "-1", "256K"},
		"number": {"", "-1", "NaN", "Inf", "0x1p4"},
	} {
		for _, text := range texts {
			err := fs.Parse([]string{"--" + flag + "=" + text})
			if _, ok := errors.AsType[*SyntaxError](err); !ok {
				t.Errorf("--%s %q gives %v", flag, text, err)
			}
		}
	}
	if rate != 1 || bits != 1 || d != time.Second || buffer != 1 || number != 1 {
		t.Errorf("errors change values: %v, %v, %v, %v, %v", rate, bits, d, buffer, number)
	}
}

func TestShortTexts(t *testing.T) {
	for want, got := range map[string]string{
		"94.2 Mbit/s": Rates.Format(94.2e6), "2627 kB": Size(2_627_000).Short(), "512 B": Size(512).Short(),
		"12.35": Digits(12.3456, 4), "1000": Digits(999.99, 4), "0.001234": Digits(0.0012341, 4),
	} {
		if got != want {
			t.Errorf("printed %q, expected %q", got, want)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, text := range []string{"20 ms", "1m30s", "0", "1e3 s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		if d < 0 {
			t.Errorf("%q is the negative %s", text, d)
		}
		if again, err := ParseDuration(d.String()); err != nil || float64(again-d) > 1e-9*float64(d) {
			t.Errorf("%q is printed as %s, which is read as %s (%v)", text, d, again, err)
		}
	})
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0.0%", 0.0001: "<0.1%", 0.012: "1.2%", 0.5: "50%", 1: "100%"} {
		if got := Percent(share); got != want {
			t.Errorf("%g: got %s, want %s", share, got, want)
		}
	}
}
