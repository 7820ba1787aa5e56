// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Demo shows the life of a cluster in acts, on control planes of its own: "make demo" runs it. acts.go is the story.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	dir = "_output/demo" // has the state, the data and the logs of the control planes, and is deleted at the end
	bin = "_output/bin"  // has the binaries
	// docsPage shows the story.
	docsPage = "docs/life-of-a-cluster.md"
)

// errInterrupted is the end by Ctrl-C before the end of the story.
var errInterrupted = errors.New("interrupted")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)  // a second Ctrl-C kills this process, and all processes that it started with it
	log.SetLogger(logr.Discard()) // without a logger the library prints a stack
	err := newCommand(os.Stdin, os.Stdout, os.Stderr).ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	auto, end, ovn bool
	page           string
}

// newCommand returns the command line. The story goes to out, all else to progress.
func newCommand(in io.Reader, out io.Writer, progress *os.File) *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:           "demo",
		Short:         "Show the life of a cluster in acts",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return s.show(cmd.Context(), in, out, progress) },
	}
	cmd.Flags().BoolVar(&s.auto, "auto", false, "show all acts without a pause")
	cmd.Flags().BoolVar(&s.end, "end", false, "end after the last act, instead of at Ctrl-C")
	cmd.Flags().BoolVar(&s.ovn, "ovn", false, "show an act with OVN's own servers, too")
	cmd.Flags().StringVar(&s.page, "page", "", "the file that the story is written to, with the same ages, times and IDs in each run")
	return cmd
}

// show starts what the acts need, shows them, and stops everything, however they end.
func (s settings) show(ctx context.Context, in io.Reader, out io.Writer, progress *os.File) (err error) {
	began := time.Now()
	if _, err := os.Stat(manifest("manager.yaml")); err != nil {
		return fmt.Errorf("this is not the directory of the repository, in which \"make demo\" runs it: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	release, err := plane.Lock(dir)
	if err != nil {
		return fmt.Errorf("one demonstration at a time: %w", err)
	}
	defer release()
	st, err := newStage(progress, s.ovn)
	if err != nil {
		return err
	}
	acting, leave := context.WithCancel(ctx)
	defer func() {
		_, _ = fmt.Fprintln(progress, "\nStopping all processes.")
		leave()
		err = st.close(context.WithoutCancel(ctx), ctx.Err() != nil, err)
	}()
	if err := st.start(acting); err != nil {
		return err
	}
	var shown bytes.Buffer
	p := &player{
		out: io.MultiWriter(out, &shown), page: &shown, execute: shell(st.environment()),
		pause: func(ctx context.Context) error { return ctx.Err() },
	}
	if !s.auto {
		p.pause = lines(in, progress)
	}
	url, err := st.console(acting)
	if err != nil {
		return err
	}
	if s.page != "" {
		b, err := st.startBrowser(acting, url)
		if err != nil {
			return err
		}
		p.camera, url = b.camera(s.page), "(the browser that takes the pictures has used it)"
	}
	_, _ = fmt.Fprintf(progress, "\nEverything runs after %.0f s. The console, whose address is valid once:\n\n  %s\n\n"+
		"To join in, in another terminal:\n\n  %s\n\n", time.Since(began).Seconds(), url, st.exports())
	if err := p.play(acting, st.acts()); err != nil {
		return err
	}
	switch {
	case s.page != "":
		err = writePage(s.page, shown.String())
	case s.auto: // nobody has joined in
		err = checkPage(docsPage, shown.String())
	}
	if err != nil {
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
