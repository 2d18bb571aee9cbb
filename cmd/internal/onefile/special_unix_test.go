//go:build unix

package onefile_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pretext/cmd/internal/onefile"
)

func TestNothingButAFileIsReplaced(t *testing.T) {
	t.Chdir(t.TempDir()) // the path of a socket is short
	if err := syscall.Mkfifo("fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	null := os.DevNull
	if syscall.Mknod("device", syscall.S_IFCHR|0o666, 1<<8|3) == nil {
		null = "device" // root could replace that of the machine
	}
	book := write(t, filepath.Join("books", "book.txt"), "Call me Ishmael.")
	own := write(t, filepath.Join("cards", "card.md"), card)
	for link, to := range map[string]string{"nothing": "none", "circle": "circle", "null": null, "folder": "books", "pipe": "fifo", "book": book, "card": own} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"fifo": "a named pipe", "socket": "a socket", null: "a device", "books": "a folder", "nothing": "leads to no file", "circle": "leads to no file",
		"null": "a device", "folder": "a folder", "pipe": "a named pipe", "book": "or --overwrite",
	} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		o := onefile.Output{Path: path, Kind: onefile.Card, Overwrite: path != "book"}
		if err := o.Write(t.Context(), []byte(card)); !isUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced: %v", path, err)
		}
	}
	o := onefile.Output{Path: "card", Kind: onefile.Card}
	if err := o.Write(t.Context(), []byte(card+"again")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(own); err != nil || string(got) != card+"again" {
		t.Errorf("behind a link: %q, %v", got, err)
	}
	if to, err := os.Readlink("card"); err != nil || to != own {
		t.Errorf("the link leads to %s, %v", to, err)
	}
}
