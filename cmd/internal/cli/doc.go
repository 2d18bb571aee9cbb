// Package cli is what the command lines of this module share: settings of the
// environment and of a YAML file under the flags that were given, manual pages,
// suggestions for flags and commands that do not exist, and exit codes.
//
//	settings := cli.Settings{Prefix: "PRETEXT_", Reserved: []string{"DATA"}}
//	root.AddCommand(cli.NewConfig(&settings), cli.NewMan())
//	settings.AddTo(root)                       // --config, and all that it says
//	cli.Complain(root)                         // what is wrong with a command line is a usage error
//	…
//	os.Exit(cli.Program{Name: "prepare-data"}.Report(os.Stderr, root.Execute()))
//
// Flags win over the environment, that over the file, that over presets, these
// over defaults. Settings are put into flags before a command runs, so that
// commands need not know of them; a flag that was set so counts as given.
package cli
