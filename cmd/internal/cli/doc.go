// Package cli is what the command lines of this module share: settings of the
// environment and of a YAML file under the flags that were given, manual pages,
// and suggestions for flags that do not exist.
//
//	settings := cli.Settings{Program: "prepare-data", Prefix: "PRETEXT_", Reserved: []string{"DATA"}}
//	settings.AddTo(root)                       // --config, and all that it says
//	root.AddCommand(cli.NewConfig(&settings), cli.NewMan())
//	root.SetFlagErrorFunc(…)                   // cli.Suggest(cmd, err) names the flag that was meant
//
// Flags win over the environment, that over the file, that over presets, these
// over defaults. Settings are put into flags before a command runs, so that
// commands need not know of them; a flag that was set so counts as given.
package cli
