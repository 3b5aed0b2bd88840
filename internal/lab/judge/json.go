package judge

import (
	"encoding/json"
	"math"
)

// orNull returns nil for NaN and infinities, because JSON has no such numbers.
func orNull(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// MarshalJSON writes {"text": "16 ms", "number": 0.016}.
func (p Param) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Text   string   `json:"text"`
		Number *float64 `json:"number"`
	}{p.Text, orNull(p.Number)})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (p *Param) UnmarshalJSON(b []byte) error {
	var in struct {
		Text   string   `json:"text"`
		Number *float64 `json:"number"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*p = Param{Text: in.Text, Number: math.NaN()}
	if in.Number != nil {
		p.Number = *in.Number
	}
	return nil
}

// MarshalJSON writes null for a missing value.
func (e Estimate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value    *float64 `json:"value"`
		Interval Interval `json:"interval"`
		Runs     int      `json:"runs"`
	}{orNull(e.Value), e.Interval, e.Runs})
}

// MarshalJSON writes null for missing figures.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Runs     int      `json:"runs"`
		Mean     *float64 `json:"mean"`
		SD       *float64 `json:"sd"`
		Median   *float64 `json:"median"`
		Interval Interval `json:"interval"`
	}{s.Runs, orNull(s.Mean), orNull(s.SD), orNull(s.Median), s.Interval})
}
