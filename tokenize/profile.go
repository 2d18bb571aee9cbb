package tokenize

// A Profile names whose rules are followed where implementations of BERT's
// tokenizer differ. It is written to manifests.
//
//	                              google       nvidia-pt           hf
//	longest word, in characters   200          100                 100
//	deleted besides Cc and Cf     nothing      Co, Cn              Co
//	capital sigma at a word's end ς            ς                   σ
//	special token in the text     split        kept if it stands   kept anywhere
//	                                           between white space
//	Unicode                       15.0.0       15.0.0              mixed, see below
//
// On prose the three give the same ids but for a final sigma, for special
// tokens in the text and for words of more than 100 characters.
type Profile string

const (
	// ProfileGoogle follows tokenization.py of google-research/bert, the
	// reference.
	ProfileGoogle Profile = "google"

	// ProfileNVIDIA follows tokenization.py of BERT for PyTorch in
	// NVIDIA/DeepLearningExamples (BertTokenizer with max_len unset). Private
	// use and unassigned code points are deleted. One of the five special
	// tokens is kept where, after cleaning, it is all that stands between
	// white space, ideographs or the ends of the text.
	ProfileNVIDIA Profile = "nvidia-pt"

	// ProfileHF follows BertTokenizerFast of Hugging Face (tokenizers 0.23.3,
	// without the special tokens that it puts around a text). The five special
	// tokens are kept wherever they stand, capitals and all; text around one
	// does not reach over it. Its tables are of several Unicode versions: newer
	// accents (Mn) and punctuation are letters to it, lower case goes up to
	// Unicode 17, and U+2B820 to U+2B91F are not ideographs.
	ProfileHF Profile = "hf"
)

// Profiles lists all profiles, the default first.
func Profiles() []Profile { return []Profile{ProfileGoogle, ProfileNVIDIA, ProfileHF} }

// rules are what a profile means to a [WordSplitter].
type rules struct {
	classes    classTable
	lower      map[rune]string // mappings that mappingOf lacks
	combining  map[rune]uint8  // non-starters that combiningClass lacks
	finalSigma bool
}

// A classTable gives the class of every code point, see unicode.go.
type classTable struct {
	page  *[len(classPage)]uint8
	pages []uint8
}

func (t *classTable) of(r rune) class {
	return class(t.pages[int(t.page[uint32(r)>>8])<<8|int(r&0xff)])
}

// A classRange says that the code points from first to last are of a class.
type classRange struct {
	first, last rune
	class       class
	value       rune // lowerMap: what the only one of them becomes; lowerReorder: their Canonical_Combining_Class
}

// combiningClass returns the Canonical_Combining_Class that orders r.
func (r *rules) combiningClass(c rune) uint8 {
	if ccc, ok := r.combining[c]; ok {
		return ccc
	}
	return combiningClass(c)
}

// newRules returns the rules of options, which must be valid.
func newRules(o Options) *rules {
	r := &rules{classes: classTable{&classPage, classPages[:]}, finalSigma: o.Profile != ProfileHF}
	switch o.Profile {
	case ProfileNVIDIA:
		r.patch(nvidiaClasses[:])
	case ProfileHF:
		r.patch(hfClasses[:])
	}
	r.adapt(o)
	return r
}

// patch replaces the classes of the code points in ranges, which are in
// ascending order.
func (r *rules) patch(ranges []classRange) {
	r.lower, r.combining = map[rune]string{}, map[rune]uint8{}
	r.rebuild(func(c rune, was class) class {
		for len(ranges) > 0 && ranges[0].last < c {
			ranges = ranges[1:]
		}
		if len(ranges) == 0 || c < ranges[0].first {
			return was
		}
		r.note(c, ranges[0])
		return ranges[0].class
	})
}

// rebuild gives every code point a new class.
func (r *rules) rebuild(change func(c rune, was class) class) {
	page, pages := new([len(classPage)]uint8), []uint8(nil)
	known := map[[256]uint8]uint8{}
	for i := range page {
		var p [256]uint8
		for j := range p {
			c := rune(i<<8 | j)
			p[j] = uint8(change(c, r.classes.of(c)))
		}
		n, ok := known[p]
		if !ok {
			if len(known) > 0xff {
				panic("BUG: more than 256 pages of classes")
			}
			n = uint8(len(known))
			known[p] = n
			pages = append(pages, p[:]...)
		}
		page[i] = n
	}
	r.classes = classTable{page, pages}
}

// note keeps the value that d gives the code point c.
func (r *rules) note(c rune, d classRange) {
	switch d.class & lowerMask {
	case lowerMap:
		r.lower[c] = string(d.value)
	case lowerReorder:
		r.combining[c] = uint8(d.value)
	}
}
