package flink

import "testing"

func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"host:1": true, "host:65535": true, "[::1]:8099": true, "10.0.0.1:8099": true,
		"host:0": false, "host:65536": false, "host:-1": false, "host:http": false, "host:": false, "host": false, ":8099": false, "": false,
		"user@host:8099": false, "http://host:8099": false,
	} {
		if err := checkAddress(text); (err == nil) != want {
			t.Errorf("%q: got %v, want it valid: %v", text, err, want)
		}
	}
}
