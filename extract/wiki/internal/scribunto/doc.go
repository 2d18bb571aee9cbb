// Package scribunto runs the Lua modules of wikis: it is the part of MediaWiki's
// extension Scribunto that the text of an article needs.
//
//	engine := scribunto.NewEngine()
//	engine.Begin(page, host)
//	text, err := engine.Invoke("Citation", "book", frame)
//
// A call has a new environment each time, as on a wiki. Tables of mw.loadData are shared by
// the calls of a page. Compiled modules are shared by the pages that an engine sees; this
// changes no result, because a call is charged for its modules as if it compiled them.
//
// # Limits
//
// A call has callSteps steps and callBytes bytes, a page pageSteps and pageBytes
// (package lua says what they are). Calls nest at most maxNested deep.
//
// # Library
//
// The functions of mw, mw.text, mw.ustring, mw.title, mw.html, mw.language, mw.message,
// mw.uri, mw.site and of frames are those of Scribunto, without those that ask a running
// wiki. What is not in a dump ends the call with a [lua.Failure] whose reason says so: data
// of Wikidata (mw.wikibase) and content of pages other than modules and templates. There
// is no clock: today is the day of the dump, see [Page].
package scribunto
