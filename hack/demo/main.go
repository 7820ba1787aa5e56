// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Demo shows the life of a cluster in acts, on control planes of its own: "make demo" runs it. acts.go is the story.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"groundskeeper.io/groundskeeper/test/plane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills this process, and all processes that it started with it
	err := newCommand(os.Stdin, os.Stdout, os.Stderr).ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	dir, bin  string
	auto, end bool
}

// newCommand returns the command line. The story goes to out, all else to progress.
func newCommand(in io.Reader, out, progress io.Writer) *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:           "demo",
		Short:         "Show the life of a cluster in acts",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return s.show(cmd.Context(), in, out, progress) },
	}
	cmd.Flags().StringVar(&s.dir, "dir", "_output/demo", "directory of the control planes: state, data and logs")
	cmd.Flags().StringVar(&s.bin, "bin", "_output/bin", "directory of the binaries")
	cmd.Flags().BoolVar(&s.auto, "auto", false, "show all acts without a pause")
	cmd.Flags().BoolVar(&s.end, "end", false, "end after the last act, instead of at Ctrl-C")
	return cmd
}

// show starts what the acts need, shows them, and stops everything, however they end.
func (s settings) show(ctx context.Context, in io.Reader, out, progress io.Writer) (err error) {
	began := time.Now()
	for _, path := range []*string{&s.dir, &s.bin} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return err
	}
	release, err := plane.Lock(s.dir)
	if err != nil {
		return err
	}
	defer release()
	st, err := open(ctx, s, progress)
	if err != nil {
		return err
	}
	ctx, leave := context.WithCancel(ctx)
	defer func() {
		_, _ = fmt.Fprintln(progress, "\nStopping all processes.")
		leave()
		err = errors.Join(err, st.close(context.WithoutCancel(ctx)))
	}()
	p := &player{out: out, environment: st.environment(), pause: func(ctx context.Context) error { return ctx.Err() }}
	if !s.auto {
		p.pause = lines(in, progress)
	}
	_, _ = fmt.Fprintf(progress, "\nEverything runs after %.0f s. To join in, in another terminal:\n\n  %s\n",
		time.Since(began).Seconds(), st.exports())
	p.print("# The life of a cluster\n\nThis is what `make demo` shows ([development.md](development.md#a-demonstration)).\n")
	if err := p.play(ctx, st.acts()); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(progress, "\nThe demonstration took %.0f s.\n", time.Since(began).Seconds())
	if s.end {
		return nil
	}
	_, _ = fmt.Fprintln(progress, "Everything keeps running until Ctrl-C, to play with.")
	<-ctx.Done()
	return nil
}
