package command

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"pretext/internal/failure"
	"pretext/trainer/comm"
	"pretext/trainer/comm/launch"
	"pretext/trainer/session"
)

// An exitStatus is an error that only sets the exit code, because another process of the
// run, a rank or the launcher, writes the message to stderr.
type exitStatus int

// Error implements error.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// asRank reads this process's rank from the environment. With --nproc it starts the ranks
// instead, waits until they have ended, and returns true.
func (o *trainOptions) asRank(cmd *cobra.Command) (launched bool, err error) {
	if o.nproc < 0 || o.nproc > maxLocalRanks {
		return false, failure.Usagef("--nproc %d: must be from 0 to %d", o.nproc, maxLocalRanks)
	}
	if report := launch.Reporter(os.Getenv); report != nil {
		o.launched, o.Saving = true, func(s session.Saving) { report(launch.Save(s)) }
	}
	if o.Ranks, err = comm.FromEnv(os.Getenv); err != nil || o.nproc <= 1 {
		return false, err
	}
	if o.Ranks.Ranks > 1 {
		return false, failure.Usagef("--nproc %d: this process is rank %d of %d already (RANK, WORLD_SIZE): use one of both", o.nproc, o.Ranks.Rank, o.Ranks.Ranks)
	}
	options := o.Options
	options.Ranks.Ranks = o.nproc
	if err := options.Validate(); err != nil { // report an error once, not once for each rank
		return false, err
	}
	code, err := launch.Run(cmd.Context(), launch.Options{Ranks: o.nproc, Args: append(os.Args[1:], "--nproc=1"), Stdout: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr()})
	switch {
	case err == nil && code == failure.ExitInterrupted:
		err = interrupted(context.Canceled, o.Out)
	case err == nil && code != 0:
		err = exitStatus(code)
	}
	return true, err
}

// report returns the error that this rank reports if its run failed with err. After an
// interruption only one process prints the checkpoint from which the run resumes: the
// launcher, or rank 0 if there is no launcher.
func (o *trainOptions) report(err error) error {
	switch {
	case failure.ExitCode(err) != failure.ExitInterrupted:
		return err
	case o.launched:
		return exitStatus(failure.ExitInterrupted)
	case o.Ranks.Rank > 0:
		return &interruption{"rank 0 says from which checkpoint the run resumes"}
	}
	return interrupted(err, o.Out)
}

// needOneProcess makes the named commands of root, and their subcommands, return an error
// if they are started as several ranks: all ranks would do the same work and write the same
// output.
func needOneProcess(root *cobra.Command, names ...string) {
	for _, c := range root.Commands() {
		if slices.Contains(names, c.Name()) {
			refuseRanks(c)
		}
	}
}

func refuseRanks(c *cobra.Command) {
	for _, sub := range c.Commands() {
		refuseRanks(sub)
	}
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if n, err := strconv.Atoi(os.Getenv("WORLD_SIZE")); err == nil && n > 1 {
			return failure.Usagef("%s uses one process, and the environment has WORLD_SIZE=%d: only train uses several ranks; start it once, after unset WORLD_SIZE", cmd.CommandPath(), n)
		}
		return run(cmd, args)
	}
}

// maxLocalRanks is the maximum of --nproc: more than the GPUs of any machine.
const maxLocalRanks = 256
