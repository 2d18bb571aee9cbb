//go:build unix

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"
)

// soundBook is a valid book next to a hostile one.
const soundBook = "A sound book has a few words.\n\nIt also ends.\n"

// must returns a value, and panics on an error that cannot occur in memory.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// escapes are file names that lead outside of the target folder, and invalid names.
func escapes(r *rand.Rand, tr *trap) []string {
	up := strings.Repeat("../", 1+r.IntN(8))
	return []string{
		up + escapeName + ".txt", up + "secret.txt", "a/" + up + escapeName + ".txt", filepath.Join(tr.root, escapeName+".txt"), "//" + escapeName + ".txt",
		`..\..\` + escapeName + ".txt", `C:\` + escapeName + ".txt", "a\x00/../" + escapeName + ".txt", "./././" + escapeName + ".txt", "a//b/../../../" + escapeName + ".txt",
		"\x1b[31m" + escapeName + ".txt", "a\nb.txt", strings.Repeat("d/", 2000) + "deep.txt", strings.Repeat("n", 3000) + ".txt", "\xff\xfe.txt", "", ".", "..", ".txt",
		"CON.txt", "a .txt", "\u202egpj.txt", "~/" + escapeName + ".txt", "$HOME/" + escapeName + ".txt", "-rf.txt",
	}
}

func zipOf(fill func(w *zip.Writer)) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	fill(w)
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func addTo(w *zip.Writer, name, text string) { must(must(w.Create(name)).Write([]byte(text))) }

// damage changes some bytes of an archive.
func damage(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(20) {
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
	return b
}

// cut truncates a file.
func cut(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b))] }

// patch writes a random number into a field after each signature.
func patch(r *rand.Rand, b []byte, signature string, offset, width int) []byte {
	for i := bytes.Index(b, []byte(signature)); i >= 0 && i+offset+width <= len(b); {
		value := []uint64{0, 1, 0xffff, 0xfffffffe, 0xffffffff, 1 << 31, r.Uint64()}[r.IntN(7)]
		var field [8]byte
		binary.LittleEndian.PutUint64(field[:], value)
		copy(b[i+offset:i+offset+width], field[:])
		next := bytes.Index(b[i+4:], []byte(signature))
		if next < 0 {
			break
		}
		i += 4 + next
	}
	return b
}

func someZip(r *rand.Rand) []byte {
	return zipOf(func(w *zip.Writer) {
		for i := range 1 + r.IntN(5) {
			addTo(w, fmt.Sprintf("book-%d.txt", i), strings.Repeat(soundBook, 1+r.IntN(30)))
		}
	})
}

func zipKinds() []hostileKind {
	kinds := map[string]func(r *rand.Rand, tr *trap) []byte{
		"names.zip": func(r *rand.Rand, tr *trap) []byte {
			return zipOf(func(w *zip.Writer) {
				for _, name := range escapes(r, tr) {
					must(must(w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})).Write([]byte(soundBook)))
				}
			})
		},
		"links.zip": func(r *rand.Rand, tr *trap) []byte {
			return zipOf(func(w *zip.Writer) {
				for i, target := range []string{"../../secret.txt", filepath.Join(tr.root, "etc/secret.txt"), "/dev/zero", "/etc/passwd", "."} {
					h := &zip.FileHeader{Name: fmt.Sprintf("link-%d.txt", i)}
					h.SetMode(0o777 | 1<<27) // a symbolic link
					must(must(w.CreateHeader(h)).Write([]byte(target)))
				}
				addTo(w, "sound.txt", soundBook)
			})
		},
		"many.zip": func(r *rand.Rand, _ *trap) []byte {
			return zipOf(func(w *zip.Writer) {
				for i := range 20_000 + r.IntN(60_000) {
					must(w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.txt", i), Method: zip.Store}))
				}
				addTo(w, "sound.txt", soundBook)
			})
		},
		"twins.zip": func(r *rand.Rand, _ *trap) []byte {
			return zipOf(func(w *zip.Writer) {
				for range 2 + r.IntN(200) {
					addTo(w, []string{"book.txt", "Book.txt", "BOOK.TXT", "./book.txt"}[r.IntN(4)], soundBook)
				}
			})
		},
		"nested.zip": func(r *rand.Rand, _ *trap) []byte {
			b := []byte(strings.Repeat("\x00", 1<<20))
			for depth := range 3 + r.IntN(4) {
				inner := b
				b = zipOf(func(w *zip.Writer) {
					for i := range 10 {
						addTo(w, fmt.Sprintf("%d-%d.%s", depth, i, []string{"zip", "txt", "epub"}[r.IntN(3)]), string(inner))
					}
				})
			}
			return b
		},
		"bomb.zip": func(r *rand.Rand, _ *trap) []byte {
			return zipOf(func(w *zip.Writer) {
				f := must(w.Create("bomb.txt"))
				block := bytes.Repeat([]byte("All work and no play. "), 1<<15)
				for range 200 + r.IntN(200) {
					must(f.Write(block))
				}
				addTo(w, "sound.txt", soundBook)
			})
		},
		"sizes.zip": func(r *rand.Rand, _ *trap) []byte {
			field := []int{20, 24, 28, 30, 32, 34, 42}[r.IntN(7)] // sizes, lengths and offset of the directory's records
			return patch(r, someZip(r), "PK\x01\x02", field, []int{4, 4, 2, 2, 2, 2, 4}[r.IntN(7)])
		},
		"local.zip":  func(r *rand.Rand, _ *trap) []byte { return patch(r, someZip(r), "PK\x03\x04", 4+r.IntN(26), 4) },
		"end.zip":    func(r *rand.Rand, _ *trap) []byte { return patch(r, someZip(r), "PK\x05\x06", 4+r.IntN(18), 4) },
		"cut.zip":    func(r *rand.Rand, _ *trap) []byte { return cut(r, someZip(r)) },
		"random.zip": func(r *rand.Rand, _ *trap) []byte { return damage(r, someZip(r)) },
		"locked.zip": func(r *rand.Rand, _ *trap) []byte { // says that its members are encrypted, or packed in ways nobody knows
			b := someZip(r)
			flags, method := uint16(1|r.Uint32()&0x2840), uint16(r.IntN(100))
			for _, s := range []struct {
				signature string
				offset    int
			}{{"PK\x01\x02", 8}, {"PK\x03\x04", 6}} {
				for i := bytes.Index(b, []byte(s.signature)); i >= 0; i = -1 {
					binary.LittleEndian.PutUint16(b[i+s.offset:], flags)
					binary.LittleEndian.PutUint16(b[i+s.offset+2:], method)
				}
			}
			return b
		},
		"zip64.zip": zip64Bomb,
	}
	return kindsOf(kinds, "--books")
}

// zip64Bomb is an archive with wrong 64-bit sizes around a valid member.
func zip64Bomb(r *rand.Rand, _ *trap) []byte {
	huge := []uint64{1 << 33, 1 << 62, 1<<64 - 1, uint64(len(soundBook))}[r.IntN(4)]
	return zipOf(func(w *zip.Writer) {
		h := &zip.FileHeader{Name: "huge.txt", Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(soundBook)),
			CompressedSize64: uint64(len(soundBook)), UncompressedSize64: huge}
		must(must(w.CreateRaw(h)).Write([]byte(soundBook)))
		addTo(w, "sound.txt", soundBook)
	})
}

// kindsOf names the kinds of hostile files, in a fixed order.
func kindsOf(kinds map[string]func(*rand.Rand, *trap) []byte, flag string) (list []hostileKind) {
	for name, make := range kinds {
		list = append(list, hostileKind{name, flag, make})
	}
	sortKinds(list)
	return list
}

func tarOf(fill func(w *tar.Writer)) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	fill(w)
	w.Close() // may complain of members that are shorter than they say
	return b.Bytes()
}

func addToTar(w *tar.Writer, h tar.Header, text string) {
	if h.Typeflag == 0 {
		h.Typeflag = tar.TypeReg
	}
	h.Mode, h.ModTime, h.Size = 0o644, time.Unix(0, 0), int64(len(text))
	if h.Typeflag != tar.TypeReg {
		h.Size = 0
	}
	if w.WriteHeader(&h) == nil && h.Size > 0 { // names that cannot be written are left out
		io.WriteString(w, text)
	}
}

func someTar(r *rand.Rand) []byte {
	return tarOf(func(w *tar.Writer) {
		for i := range 1 + r.IntN(5) {
			addToTar(w, tar.Header{Name: fmt.Sprintf("%sbook-%d.txt", strings.Repeat("folder/", r.IntN(40)), i)}, strings.Repeat(soundBook, 1+r.IntN(30)))
		}
	})
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must(w.Write(b))
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func tarKinds() []hostileKind {
	kinds := map[string]func(r *rand.Rand, tr *trap) []byte{
		"names.tar": func(r *rand.Rand, tr *trap) []byte {
			return tarOf(func(w *tar.Writer) {
				for _, name := range escapes(r, tr) {
					addToTar(w, tar.Header{Name: name}, soundBook)
				}
			})
		},
		"links.tar": func(r *rand.Rand, tr *trap) []byte {
			return tarOf(func(w *tar.Writer) {
				types := []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo, tar.TypeDir, 'S', 'V', '?'}
				for i := range 40 {
					target := []string{"../../secret.txt", filepath.Join(tr.root, "etc/secret.txt"), "/dev/zero", "link-0.txt", "sound.txt"}[r.IntN(5)]
					addToTar(w, tar.Header{Name: fmt.Sprintf("link-%d.txt", i%7), Linkname: target, Typeflag: types[r.IntN(len(types))], Devmajor: 1, Devminor: 5}, "")
				}
				addToTar(w, tar.Header{Name: "link-0.txt/" + escapeName + ".txt"}, soundBook)
				addToTar(w, tar.Header{Name: "sound.txt"}, soundBook)
			})
		},
		"many.tar.gz": func(r *rand.Rand, _ *trap) []byte {
			return gzipped(tarOf(func(w *tar.Writer) {
				for i := range 20_000 + r.IntN(30_000) {
					addToTar(w, tar.Header{Name: fmt.Sprintf("%d.txt", i%1000)}, "")
				}
				addToTar(w, tar.Header{Name: "sound.txt"}, soundBook)
			}))
		},
		"pax.tar": func(r *rand.Rand, _ *trap) []byte { // headers of their own that lie or never end
			return tarOf(func(w *tar.Writer) {
				addToTar(w, tar.Header{Name: "sound.txt", PAXRecords: map[string]string{"comment": strings.Repeat("x", 1<<uint(r.IntN(20)))}}, soundBook)
				addToTar(w, tar.Header{Name: strings.Repeat("long/", 1<<uint(r.IntN(12))) + "name.txt", Format: tar.FormatPAX}, soundBook)
				addToTar(w, tar.Header{Name: strings.Repeat("long/", 1<<uint(r.IntN(12))) + "name.txt", Format: tar.FormatGNU}, soundBook)
			})
		},
		"header.tar": func(r *rand.Rand, _ *trap) []byte { // a damaged header whose checksum is right
			b := someTar(r)
			at := 100 + r.IntN(155)
			b[at] = byte(r.Uint32())
			if r.IntN(2) == 0 {
				copy(b[124:136], []string{"77777777777\x00", "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "-0000000001\x00", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "0000000000 \x00"}[r.IntN(5)])
			}
			copy(b[148:156], "        ")
			sum := 0
			for _, c := range b[:512] {
				sum += int(c)
			}
			copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
			return b
		},
		"cut.tar":       func(r *rand.Rand, _ *trap) []byte { return cut(r, someTar(r)) },
		"cut.tar.gz":    func(r *rand.Rand, _ *trap) []byte { return cut(r, gzipped(someTar(r))) },
		"random.tar":    func(r *rand.Rand, _ *trap) []byte { return damage(r, someTar(r)) },
		"random.tar.gz": func(r *rand.Rand, _ *trap) []byte { return damage(r, gzipped(someTar(r))) },
		"bomb.tar.gz": func(r *rand.Rand, _ *trap) []byte {
			inner := gzipped(bytes.Repeat([]byte{0}, 1<<26))
			return gzipped(tarOf(func(w *tar.Writer) {
				addToTar(w, tar.Header{Name: "zeros.txt"}, string(bytes.Repeat([]byte("a"), 1<<uint(20+r.IntN(7)))))
				addToTar(w, tar.Header{Name: "inner.txt"}, string(inner))
				addToTar(w, tar.Header{Name: "sound.txt"}, soundBook)
			}))
		},
	}
	return kindsOf(kinds, "--books")
}

// epubKinds are EPUBs whose parts contain wrong facts about themselves or about other
// files.
func epubKinds() []hostileKind {
	epub := func(opf string, parts map[string]string) []byte {
		return zipOf(func(w *zip.Writer) {
			addTo(w, "mimetype", "application/epub+zip")
			addTo(w, "META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>`)
			addTo(w, "OEBPS/content.opf", opf)
			for _, name := range sortedKeys(parts) {
				addTo(w, name, parts[name])
			}
		})
	}
	opf := func(hrefs ...string) string {
		var items, spine strings.Builder
		for i, href := range hrefs {
			fmt.Fprintf(&items, `<item id="i%d" href="%s" media-type="application/xhtml+xml"/>`, i, href)
			fmt.Fprintf(&spine, `<itemref idref="i%d"/>`, i)
		}
		return `<package><metadata><title>T</title></metadata><manifest>` + items.String() + `</manifest><spine>` + spine.String() + `</spine></package>`
	}
	page := func(body string) string { return `<html><body>` + body + `</body></html>` }
	one := func(body string) []byte {
		return epub(opf("a.xhtml"), map[string]string{"OEBPS/a.xhtml": page(body)})
	}
	kinds := map[string]func(r *rand.Rand, tr *trap) []byte{
		"hrefs.epub": func(r *rand.Rand, tr *trap) []byte {
			return epub(opf("../../../../secret.txt", filepath.Join(tr.root, "etc/secret.txt"), "file://"+filepath.Join(tr.root, "secret.txt"), "http://127.0.0.1/x", "a.xhtml",
				"../META-INF/container.xml", "%2e%2e/%2e%2e/secret.txt", "a.xhtml#x", "", "content.opf"), map[string]string{"OEBPS/a.xhtml": page("<p>Sound.</p>")})
		},
		"spine.epub": func(r *rand.Rand, _ *trap) []byte { // the same part again and again
			return epub(opf(strings.Split(strings.Repeat("a.xhtml ", 1+r.IntN(5000)), " ")...), map[string]string{"OEBPS/a.xhtml": page(strings.Repeat("<p>Sound it is.</p>", 200))})
		},
		"entities.epub": func(r *rand.Rand, tr *trap) []byte {
			bomb := `<!DOCTYPE html [<!ENTITY a "` + strings.Repeat("ha ", 100) + `">`
			for i := range 8 {
				bomb += fmt.Sprintf(`<!ENTITY %c "%s">`, 'b'+i, strings.Repeat(fmt.Sprintf("&%c;", 'a'+i), 20))
			}
			bomb += `<!ENTITY x SYSTEM "file://` + filepath.Join(tr.root, "etc/secret.txt") + `">]>`
			return epub(bomb+opf("a.xhtml"), map[string]string{"OEBPS/a.xhtml": bomb + page("<p>&i; &x; &nbsp; &#0; &#xd800; &#x110000; &bogus;</p>")})
		},
		"deep.epub": func(r *rand.Rand, _ *trap) []byte {
			n := 1000 << uint(r.IntN(9))
			tag := []string{"div", "p", "table", "b", "li", "script", "svg"}[r.IntN(7)]
			return one(strings.Repeat("<"+tag+">", n) + "Deep." + strings.Repeat("</"+tag+">", r.IntN(n)))
		},
		"tags.epub": func(r *rand.Rand, _ *trap) []byte {
			return one(strings.Repeat([]string{"<", "<p", "<!--", "<![CDATA[", "</", "<p a='", "&", "&#", "<?", "<!DOCTYPE", "<title>", "<textarea>", "\x00", "<p>\xff"}[r.IntN(14)], 100_000))
		},
		"attributes.epub": func(r *rand.Rand, _ *trap) []byte {
			var b strings.Builder
			for i := range 50_000 {
				fmt.Fprintf(&b, " a%d='%d'", i, i)
			}
			return one("<p" + b.String() + ">Attributes.</p>")
		},
		"locked.epub": func(r *rand.Rand, _ *trap) []byte {
			return epub(opf("a.xhtml"), map[string]string{"OEBPS/a.xhtml": "\x01\x02" + string(damage(r, bytes.Repeat([]byte{7}, 4000))),
				"META-INF/encryption.xml": `<encryption><EncryptedData><CipherReference URI="OEBPS/a.xhtml"/></EncryptedData></encryption>`})
		},
		"random.epub": func(r *rand.Rand, _ *trap) []byte { return damage(r, one("<p>Sound.</p>")) },
		"cut.epub":    func(r *rand.Rand, _ *trap) []byte { return cut(r, one(strings.Repeat("<p>Sound.</p>", 100))) },
		"package.epub": func(r *rand.Rand, _ *trap) []byte {
			return epub(string(damage(r, []byte(opf("a.xhtml", "b.xhtml")))), map[string]string{"OEBPS/a.xhtml": page("<p>Sound.</p>")})
		},
	}
	return kindsOf(kinds, "--books")
}
