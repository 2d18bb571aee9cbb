package cli

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"
)

// A Value is a flag value whose parsing and formatting are given as functions. It
// implements pflag.Value.
type Value struct {
	Kind string                  // the type in help texts
	Read func(text string) error // sets the value, or adds one to a list
	Show func() []string         // the values, as they would be typed
}

// Set implements pflag.Value.
func (v *Value) Set(text string) error { return v.Read(text) }

// Type implements pflag.Value.
func (v *Value) Type() string { return v.Kind }

// String implements pflag.Value.
func (v *Value) String() string { return strings.Join(v.Show(), ",") }

// GetSlice returns the values of a list one by one.
func (v *Value) GetSlice() []string { return v.Show() }

// Optional returns the value of an optional flag, which sets *to. If the flag is not given,
// or its text equals unset, *to is nil.
func Optional[T any](to **T, kind, unset string, parse func(string) (T, error)) *Value {
	return &Value{
		Kind: kind,
		Read: func(text string) error {
			*to = nil
			if text == unset && unset != "" {
				return nil
			}
			v, err := parse(text)
			*to = &v
			return err
		},
		Show: func() []string {
			if *to == nil {
				return []string{unset}
			}
			return []string{fmt.Sprint(**to)}
		},
	}
}

// ParseFloat is strconv.ParseFloat for 64 bits.
func ParseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// wrongValue returns the error for an invalid value of a flag. The message has the values
// that the flag takes and, if the intention is clear, the correct spelling.
func wrongValue(f *pflag.Flag, value string, cause error) error {
	cause = plainCause(f.Value.Type(), value, cause)
	if strings.HasPrefix(cause.Error(), strconv.Quote(value)) {
		return fmt.Errorf("--%s: %w", f.Name, cause)
	}
	return fmt.Errorf("--%s %q: %w", f.Name, value, cause)
}

// plainCause replaces errors about numbers and durations, whose texts name Go functions,
// by messages for users. It returns other errors unchanged.
func plainCause(kind, value string, cause error) error {
	var number *strconv.NumError
	if !errors.As(cause, &number) && kind != "duration" {
		return cause
	}
	if number != nil && errors.Is(number, strconv.ErrRange) {
		return errors.New("the number is too large")
	}
	whole := false
	want := map[string]string{
		"bool":     "must be true or false",
		"duration": "must be a time with its unit, such as 30s, 90m or 1h30m",
		"float":    "must be a number", "float64": "must be a number",
		"intSlice": "must be whole numbers with commas between them, such as 1,2,3",
	}[kind]
	if want == "" {
		want, whole = "must be a whole number", true
	}
	switch meant, ok := meantNumber(number); {
	case value == "":
		return errors.New(want + ", and is empty")
	case ok && strings.HasPrefix(kind, "float"), ok && whole && isWhole(meant):
		return fmt.Errorf("%s: write %s", want, strconv.FormatFloat(meant, 'f', -1, 64))
	}
	return errors.New(want)
}

func isWhole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) < 1<<53 }

var (
	decimalComma = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?\d{1,3},\d{1,2}$|^-?0,\d+$`) })
	thousands    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?\d{1,3}([,_ ']\d{3})+$`) })
)

// factors maps the suffixes that people write after a number to their factors.
var factors = []struct {
	suffix string
	factor float64
}{{"%", 0.01}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1e9}}

// meantNumber guesses the number that a user meant by text that strconv rejected, such as
// 10%, 1k, 1e4, 1_000, 1,000 or 0,1. It returns false if the number is uncertain.
func meantNumber(err *strconv.NumError) (float64, bool) {
	if err == nil {
		return 0, false
	}
	text, factor := strings.ToLower(strings.TrimSpace(err.Num)), 1.0
	for _, f := range factors {
		if number, ok := strings.CutSuffix(text, f.suffix); ok {
			text, factor = strings.TrimSpace(number), f.factor
			break
		}
	}
	switch {
	case thousands().MatchString(text):
		text = strings.NewReplacer(",", "", "_", "", " ", "", "'", "").Replace(text)
	case decimalComma().MatchString(text):
		text = strings.Replace(text, ",", ".", 1)
	}
	if a, b, ok := strings.Cut(text, "/"); ok {
		over, err := strconv.ParseFloat(b, 64)
		if err != nil || over == 0 {
			return 0, false
		}
		text, factor = a, factor/over
	}
	v, parseErr := strconv.ParseFloat(text, 64)
	if parseErr != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v*factor, 'g', 12, 64), 64) // 12 digits remove rounding errors: 15 % is 0.15
	return rounded, true
}
