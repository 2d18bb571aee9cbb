package main

import (
	"math/rand/v2"
	"strings"
)

// The corpus is about an invented village. Its people, their products and their tools are
// the same in all stories, so that a model can learn them: the baker is always Anna, she
// bakes bread, and bread needs flour from Frank's mill. The events of a story and its
// wording are random.

// A villager is one of the people of the stories.
type villager struct {
	name, trade string
	woman       bool
	place       string // with its preposition
	tool        string // with its article
	makes       string // a verb in the past tense, with its object
	goods       string // the products that others ask for
	needs, from string // a supply that the trade uses up, and the name of the supplier
	home        string // the villager's house, with its article
}

var villagers = []villager{
	{"Anna", "baker", true, "in the bakery", "the oven", "baked bread", "bread", "flour", "Frank", "the yellow house"},
	{"Bruno", "smith", false, "at the forge", "the hammer", "forged nails", "nails", "coal", "Jonas", "the stone house"},
	{"Clara", "fisher", true, "on the lake", "the net", "caught fish", "fish", "rope", "Emma", "the blue house"},
	{"David", "gardener", false, "in the garden", "the spade", "planted beans", "beans", "seeds", "Oskar", "the green house"},
	{"Emma", "weaver", true, "in the barn", "the loom", "wove cloth", "cloth", "wool", "Leo", "the narrow house"},
	{"Frank", "miller", false, "at the mill", "the millstone", "ground flour", "flour", "grain", "David", "the white house"},
	{"Greta", "teacher", true, "at the school", "the chalk", "read books", "books", "paper", "Oskar", "the brick house"},
	{"Henry", "carpenter", false, "in the workshop", "the saw", "built chairs", "chairs", "nails", "Bruno", "the wooden house"},
	{"Ida", "beekeeper", true, "in the orchard", "the smoker", "gathered honey", "honey", "jars", "Mara", "the brown house"},
	{"Jonas", "ferryman", false, "on the river", "the oar", "carried coal", "coal", "boards", "Henry", "the red house"},
	{"Karin", "doctor", true, "in the surgery", "the needle", "mixed medicine", "medicine", "honey", "Ida", "the tall house"},
	{"Leo", "shepherd", false, "on the hill", "the crook", "sheared wool", "wool", "bread", "Anna", "the lonely house"},
	{"Mara", "potter", true, "in the pottery", "the wheel", "shaped jars", "jars", "clay", "Jonas", "the round house"},
	{"Oskar", "merchant", false, "at the market", "the scales", "sold paper", "paper", "cloth", "Emma", "the corner house"},
}

// The pronouns of a villager.
func (v villager) he() string  { return v.either("she", "he") }
func (v villager) his() string { return v.either("her", "his") }
func (v villager) him() string { return v.either("her", "him") }

func (v villager) either(woman, man string) string {
	if v.woman {
		return woman
	}
	return man
}

// where is the place of work without its preposition.
func (v villager) where() string {
	_, place, _ := strings.Cut(v.place, " ")
	return place
}

// A season has phrases for its weather, clothes, food and landscape.
type season struct {
	name                       string
	weather, wears, meal, land []string
}

var seasons = []season{
	{"spring", []string{"a soft rain fell", "the wind was mild", "the snow melted", "the sky cleared"},
		[]string{"a light coat", "wet boots"}, []string{"green soup", "fresh eggs", "young onions"},
		[]string{"the apple trees were white with flowers", "the lambs were born", "the river was high", "the birds came back"}},
	{"summer", []string{"the sun was hot", "no cloud was seen", "thunder rolled over the hill", "the air was dry"},
		[]string{"a straw hat", "a thin shirt"}, []string{"cold milk", "ripe cherries", "sweet berries"},
		[]string{"the wheat stood yellow in the fields", "the children swam in the lake", "the bees flew from flower to flower", "the days were long"}},
	{"autumn", []string{"the fog was thick", "the leaves fell", "a cold rain fell", "the storm was near"},
		[]string{"a wool coat", "strong boots"}, []string{"baked apples", "pumpkin soup", "roasted nuts"},
		[]string{"the leaves were red and brown", "the geese flew south", "the barns were full of grain", "the evenings came early"}},
	{"winter", []string{"the snow fell", "the ice was thick", "the north wind blew", "the air was clear and cold"},
		[]string{"a fur hat", "thick gloves"}, []string{"hot soup", "dried fish", "black bread"},
		[]string{"the lake was covered with ice", "the fields were white with snow", "the nights were long and dark", "smoke rose from every roof"}},
}

// An animal has an owner, a sound and a food.
type animal struct{ kind, owner, sound, eats string }

var animals = []animal{
	{"dog", "Leo", "barked", "bones"}, {"cat", "Anna", "purred", "mice"}, {"horse", "Frank", "neighed", "hay"},
	{"cow", "David", "mooed", "grass"}, {"goose", "Clara", "hissed", "grain"}, {"donkey", "Oskar", "brayed", "carrots"},
	{"goat", "Mara", "bleated", "leaves"}, {"owl", "Henry", "hooted", "worms"},
}

// byName returns the villager with the given name.
func byName(name string) villager {
	for _, v := range villagers {
		if v.name == name {
			return v
		}
	}
	panic("BUG: nobody is called " + name)
}

// A story is the state of the generator for one story.
type story struct {
	*rand.Rand
	season season
	hero   villager
	out    []string
}

// tell returns the sentences of a random story.
func tell(r *rand.Rand) []string {
	s := &story{Rand: r, season: one(r, seasons), hero: one(r, villagers)}
	s.opening()
	s.work()
	scenes := []func(){s.visit, s.trade, s.beast, s.trouble, s.feast, s.lesson}
	for _, i := range r.Perm(len(scenes))[:3] {
		scenes[i]()
	}
	s.evening()
	return s.out
}

func one[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// pick returns a random element of ways, which express the same in different words.
func (s *story) pick(ways ...string) string { return one(s.Rand, ways) }

// say adds a sentence to the story, a random element of ways. In three of four cases it
// adds a random beginning, a random end, or both.
func (s *story) say(ways ...string) {
	text := s.pick(ways...)
	if s.IntN(2) == 0 {
		text = s.when() + ", " + text
	}
	if s.IntN(2) == 0 {
		text += s.meanwhile()
	}
	s.out = append(s.out, strings.ToUpper(text[:1])+text[1:]+".")
}

// when returns a random beginning of a sentence.
func (s *story) when() string {
	return s.pick("then", "later", "after that", "a little later", "on the same day", "at last", "before noon", "after lunch", "an hour later", "as always", "this time",
		"on the next day", "two days later", "in the "+s.season.name+" air", "with a smile", "without a word", "with great care", "as the bell rang")
}

// meanwhile returns a random end of a sentence.
func (s *story) meanwhile() string {
	a, other := one(s.Rand, animals), s.other()
	return s.pick(" while "+one(s.Rand, s.season.weather), " because "+one(s.Rand, s.season.land), ", and a "+a.kind+" "+a.sound, ", for it was "+s.season.name,
		" while "+other.name+" "+other.makes+" "+other.place, ", and "+other.name+" the "+other.trade+" watched", " near "+other.home+" of "+other.name, ", and "+other.name+" had "+other.tool+" in "+other.his()+" hand")
}

// other returns a random villager who is not the hero.
func (s *story) other() villager {
	for {
		if v := one(s.Rand, villagers); v.name != s.hero.name {
			return v
		}
	}
}

func (s *story) opening() {
	v := s.hero
	s.say("one "+s.season.name+" morning "+v.name+" the "+v.trade+" woke up in "+v.home,
		"it was "+s.season.name+" in the village and "+one(s.Rand, s.season.land),
		v.name+" the "+v.trade+" opened the door of "+v.home+" and saw that "+one(s.Rand, s.season.weather))
	s.say(v.name+" put on "+one(s.Rand, s.season.wears)+" and ate "+one(s.Rand, s.season.meal),
		"the "+v.trade+" ate "+one(s.Rand, s.season.meal)+" and looked for "+v.his()+" "+strings.TrimPrefix(v.tool, "the "))
}

func (s *story) work() {
	v := s.hero
	s.say(v.name+" worked "+v.place+" and "+v.makes,
		v.he()+" took "+v.tool+" and "+v.makes+" until noon",
		"all morning "+v.he()+" stood "+v.place+" and "+v.makes)
	s.say("for this work "+v.he()+" needed "+v.needs+" and "+v.tool,
		"the "+v.trade+" was proud of "+v.his()+" "+v.goods,
		"everybody in the village knew that "+v.name+" had good "+v.goods)
}

// trade tells how the hero gets supplies from the villager who has them.
func (s *story) trade() {
	v, other := s.hero, byName(s.hero.from)
	s.say("there was no "+v.needs+" left, so "+v.he()+" went to "+other.name+" the "+other.trade,
		v.he()+" saw that the "+v.needs+" was gone and walked to "+other.where())
	s.say(v.name+" found "+other.name+" "+other.place,
		other.name+" was "+other.place+" and held "+other.tool,
		"the "+other.trade+" stood "+other.place+" and smiled")
	s.say(other.name+" gave "+v.him()+" "+v.needs+" and got "+v.goods+" for it",
		v.name+" paid for the "+v.needs+" with "+v.goods,
		"\"take the "+v.needs+"\", said the "+other.trade+", \"and bring me "+v.goods+"\"")
}

// visit tells how another villager comes for the hero's goods.
func (s *story) visit() {
	v, other := s.hero, s.other()
	s.say(other.name+" the "+other.trade+" came and asked for "+v.goods,
		other.name+" came from "+other.where()+" to buy "+v.goods)
	n := s.pick("two", "three", "four", "five", "six")
	s.say("\"I need "+n+" days for it\", said the "+v.trade+", and "+other.name+" waited "+n+" days",
		v.name+" asked for "+n+" coins, and "+other.he()+" paid "+n+" coins",
		"the "+other.trade+" thanked the "+v.trade+" and went back to "+other.home)
}

func (s *story) beast() {
	v, a := s.hero, one(s.Rand, animals)
	owner := byName(a.owner)
	s.say("on the road stood a "+a.kind+" that belonged to "+a.owner+" the "+owner.trade,
		"the "+a.kind+" of "+a.owner+" had run away from "+owner.home)
	s.say("the "+a.kind+" "+a.sound+" when it saw "+v.name,
		"it "+a.sound+" like every "+a.kind+" that is hungry")
	s.say(v.name+" gave the "+a.kind+" some "+a.eats+" and brought it back to "+a.owner,
		"a "+a.kind+" likes "+a.eats+", so "+v.he()+" gave it "+a.eats)
}

func (s *story) trouble() {
	v := s.hero
	s.say("suddenly "+v.name+" fell and hurt "+v.his()+" "+s.pick("hand", "foot", "arm", "knee"),
		v.his()+" "+s.pick("head", "back", "shoulder")+" hurt, and "+v.he()+" had to sit down")
	if v.name == "Karin" {
		s.say("Karin was a doctor, so she helped herself with " + v.goods)
		return
	}
	s.say("Karin the doctor came from the surgery and brought medicine",
		"somebody ran to the surgery, and Karin the doctor came with the needle")
	s.say("soon "+v.he()+" felt better and thanked the doctor",
		"\"you must rest\", said Karin, and "+v.he()+" rested until the evening")
}

func (s *story) feast() {
	v, meal := s.hero, one(s.Rand, s.season.meal)
	other := byName(s.pick("Anna", "Clara", "Ida", "David"))
	s.say("in "+s.season.name+" the whole village ate "+meal+" at the market",
		"there was a feast, because "+one(s.Rand, s.season.land))
	s.say(other.name+" the "+other.trade+" brought "+other.goods+" for everybody",
		"the "+v.trade+" sat with "+s.other().name+" and ate "+meal)
	s.say("they sang old songs and danced until the moon was high",
		v.name+" danced with "+s.other().name+" and laughed")
}

func (s *story) lesson() {
	v := s.hero
	s.say("the children came from the school with Greta the teacher",
		"a child wanted to know what the "+v.trade+" makes")
	s.say(v.name+" showed them "+v.tool+" and how "+v.he()+" works "+v.place,
		"\"look\", said the "+v.trade+", \"this is "+v.tool+", and with it I make "+v.goods+"\"")
	s.say("the children learned that the "+v.trade+" needs "+v.needs,
		"Greta wrote the word "+v.goods+" with chalk")
}

func (s *story) evening() {
	v := s.hero
	s.say("in the evening "+v.name+" put "+v.tool+" away and went home to "+v.home,
		"when the sun went down, the "+v.trade+" closed the door and went home")
	s.say("at home "+v.he()+" ate "+one(s.Rand, s.season.meal)+" and slept well",
		v.name+" was tired, but "+v.he()+" was happy",
		"outside, "+one(s.Rand, s.season.weather)+", but "+v.his()+" bed was warm")
}
