package namespace

import "testing"

func TestNamesOfNamespaces(t *testing.T) {
	own := map[int]string{0: "", 10: "Vorlage", 100: "Portal"}
	for name, want := range map[string]int{"vorlage": 10, "TEMPLATE": 10, "Portal": 100, "user_ talk": 3, "image": 6, "Module": 828} {
		if n, ok := Number(own, name); !ok || n != want {
			t.Errorf("Number(%q) = %d, %v; want %d", name, n, ok, want)
		}
	}
	for _, name := range []string{"", "_", "Nothing"} {
		if n, ok := Number(own, name); ok {
			t.Errorf("Number(%q) = %d", name, n)
		}
	}
	for number, want := range map[int]string{0: "", 10: "Vorlage", 6: "File", 829: "Module talk", 999: ""} {
		if got := Name(own, number); got != want {
			t.Errorf("Name(%d) = %q, want %q", number, got, want)
		}
	}
}
