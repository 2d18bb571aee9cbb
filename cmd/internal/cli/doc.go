// Package cli has the parts that the command lines of this module share: settings from
// the environment and from a YAML file, manual pages, completion, suggestions for
// unknown flags and commands, and exit codes.
//
//	settings := cli.Settings{Prefix: "PRETEXT_", Reserved: []string{"DATA"}}
//	root.AddCommand(cli.NewConfig(&settings), cli.NewMan())
//	settings.AddTo(root)                       // --config and the environment
//	cli.Hints{}.Complain(root)                 // errors of the command line are usage errors
//	…
//	os.Exit(cli.Program{Name: "prepare-data"}.Report(os.Stderr, root.Execute()))
//
// In order of precedence, values come from flags, the environment, the file, presets,
// and defaults. Settings are written to the flags before a command runs, as if the user
// had given these flags.
package cli
