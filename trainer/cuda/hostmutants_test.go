package cuda

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/internal/usage"
)

// A hostEdit changes a call: a field, or how often it is made.
type hostEdit struct {
	name  string
	field int // -1: the call as a whole
}

func (e hostEdit) times() int {
	switch e.name {
	case "left out":
		return 0
	case "twice":
		return 2
	}
	return 1
}

// fieldEdits are the changes of each kind of field.
var fieldEdits = map[string][]string{
	"dim":                 {"one more", "one less"},
	"block":               {"halved"},
	"integer":             {"one more", "one less", "exchanged"},
	"integer of a struct": {"one more", "one less"},
	"size":                {"halved"},
	"bytes":               {"halved"},
	"chance":              {"halved"}, // of keeping an element
	"pointer":             {"null", "16 bytes on", "exchanged"},
	"pointer of a struct": {"null", "16 bytes on"},
	"operand":             {"16 bytes on", "exchanged"},
	"workspace":           {"null"},
	"float":               {"doubled"},
	"factor":              {"turned"}, // of what is added to

	"flag":     {"turned"},
	"epilogue": {"null"},
	"planned":  {"doubled"}, // as if the buffer had half the size that was planned
}

// apply returns the fields with the change. The pointer or number that is exchanged is the next of its kind.
func (e hostEdit) apply(fields []field) []field {
	if e.field < 0 {
		return fields
	}
	fields = slices.Clone(fields)
	f := &fields[e.field]
	switch e.name {
	case "one more":
		f.value++
	case "one less":
		f.value = max(f.value, 1) - 1
	case "halved":
		f.value /= 2
	case "null":
		f.value = 0
	case "16 bytes on":
		if f.value != 0 {
			f.value += 16
		}
	case "exchanged":
		for i := e.field + 1; i < len(fields); i++ {
			if fields[i].kind == f.kind {
				fields[i].value, f.value = f.value, fields[i].value
				break
			}
		}
	case "doubled":
		if f.kind == "float" {
			f.value = bits(2 * f.float())
		} else {
			f.value *= 2
		}
	case "turned":
		if f.kind == "factor" && f.float() != 0 || f.kind == "flag" && f.value != 0 {
			f.value = 0
		} else if f.kind == "factor" {
			f.value = bits(1)
		} else {
			f.value = 1
		}
	}
	return fields
}

// changed reports whether the change makes a difference for a call: an extent of 0 is one of 1.
func (e hostEdit) changed(fields []field) bool {
	if e.field < 0 {
		return true
	}
	return !slices.EqualFunc(fields, e.apply(fields), func(a, b field) bool {
		return a.value == b.value || a.kind == "dim" && max(a.value, 1) == max(b.value, 1)
	})
}

// everySite is the site of mutants that change all launches of a kernel.
const everySite = "every site"

// A hostMutant makes the calls of one site, for one kernel or kind of work, other ones.
type hostMutant struct {
	site, work string
	edit       hostEdit
	field      string // its name
	subjects   []*hostSubject
}

func (m *hostMutant) String() string {
	text := fmt.Sprintf("%s: %s: ", m.site, m.work)
	if m.field != "" {
		text += m.field + " "
	}
	return text + m.edit.name + ": " + siteText(m.site)
}

// generateHost returns the mutants of all calls that the subjects make, and the number of calls' sites.
func generateHost(subjects []*hostSubject) (all []*hostMutant) {
	known := map[string]*hostMutant{}
	for _, s := range subjects {
		for _, c := range s.calls {
			edits := []hostEdit{{"left out", -1}}
			if c.adds() {
				edits = append(edits, hostEdit{"twice", -1})
			}
			for i, f := range c.fields {
				for _, name := range fieldEdits[f.kind] {
					edits = append(edits, hostEdit{name, i})
				}
			}
			for _, e := range edits {
				if !e.changed(c.fields) {
					continue
				}
				m := &hostMutant{site: c.site, work: c.work, edit: e}
				if e.field >= 0 && (c.fields[e.field].kind == "block" || c.fields[e.field].name == "shared memory") {
					m.site = everySite // one table has them
				}
				if e.field >= 0 {
					m.field = c.fields[e.field].name
				}
				if k, ok := known[m.String()]; ok {
					m = k
				} else {
					known[m.String()] = m
					all = append(all, m)
				}
				if (len(m.subjects) < 6 || len(c.fields) == 0) && !slices.Contains(m.subjects, s) {
					m.subjects = append(m.subjects, s)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b *hostMutant) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// adds reports whether a call may compute something else if it is made twice.
func (c call) adds() bool {
	if c.work == "product" {
		return c.fields[len(c.fields)-1].value != 0 // beta
	}
	return len(c.fields) > 2 && c.work != "collective" && !overwrites.MatchString(c.work)
}

// overwrites matches kernels that write what they compute, add nothing to it, and read none of it.
var overwrites = regexp.MustCompile(`^(embed|norm|words|attention|attention_local|flash|flash_local)_forward$|^gather|^norm_backward|^column_sums|^attention_(local_)?backward|^attention_delta|^flash_(local_)?backward_|^gelu_again|^geglu_forward|^mean_rows|^spread_stream|^round_down|^sum_squares|_ratios$`)

// run returns what the training of some model finds; nil if nothing.
func (m *hostMutant) run() error {
	for _, s := range m.subjects {
		if err := s.run(m, nil); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// TestHostMutantsAreCaught changes calls of the host, one at a time: four of one model in a plain
// go test, 450 in a full one (a minute of CPU; a number, so that the same ones run everywhere), all
// with $PRETEXT_TORTURE. With $PRETEXT_HOST_MUTANTS, a regular expression, those that match run.
func TestHostMutantsAreCaught(t *testing.T) {
	random := torture.Random(t)
	only, quick := os.Getenv("PRETEXT_HOST_MUTANTS"), !torture.Full()
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	subjects := hostSubjects()
	if quick && only == "" {
		subjects = subjects[random.IntN(len(subjects)):][:1]
	}
	for _, s := range subjects {
		begin := usage.CPU()
		if err := s.prepare(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		t.Logf("%s: %d calls, %v", s.name, len(s.calls), usage.CPU()-begin)
	}
	all := generateHost(subjects)
	sites := map[string]bool{}
	for _, m := range all {
		sites[m.site+m.work] = true
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	limit, begin := 450, usage.CPU()
	if quick {
		limit = 4
	}
	tried, missed, proved := 0, 0, 0
	for _, m := range all {
		if only != "" && !regexp.MustCompile(only).MatchString(m.String()) {
			continue
		}
		if only == "" && tried == limit && !torture.Long() {
			break
		}
		if m.proof() != "" {
			proved++
			continue
		}
		tried++
		if err := m.run(); err == nil && m.open() {
			t.Logf("not caught, as known: %v", m)
		} else if err == nil {
			missed++
			t.Errorf("not caught: %v", m)
		} else if testing.Verbose() {
			t.Logf("caught: %v: %v", m, err)
		}
	}
	t.Logf("%d of %d mutants of %d sites caught, %d equivalent, %d not caught, in %v", tried-missed, len(all), len(sites), proved, missed, usage.CPU()-begin)
}
