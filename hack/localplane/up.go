// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"groundskeeper.io/groundskeeper/test/plane"
)

type upOptions struct {
	binDir, artifacts            string
	config                       string
	apiserverFlags, managerFlags string
}

// up makes everything run, creates the example Project when it was never created, and says how to go on.
func up(ctx context.Context, out io.Writer, dir string, o upOptions) error {
	began := time.Now()
	tell := func(line string) { fmt.Fprintln(out, line) }
	p, err := plane.Start(ctx, plane.Options{
		Dir:            dir,
		BinDir:         o.binDir,
		Artifacts:      o.artifacts,
		APIServers:     1,
		Managers:       1,
		Webhooks:       true,
		ManagerConfig:  o.config,
		APIServerFlags: strings.Fields(o.apiserverFlags),
		ManagerFlags:   strings.Fields(o.managerFlags),
		Detached:       true,
		Progress:       tell,
	})
	if err != nil {
		return err
	}
	if err := example(ctx, p, filepath.Join(o.artifacts, "examples", "project.yaml"), tell); err != nil {
		return err
	}
	fmt.Fprintf(out, `
The control plane is ready after %.1f s. To use it:

  export KUBECONFIG=%s
  export PATH=%s:$PATH
  kubectl get projects
  kubectl explain project.spec

make status shows its processes, make down stops it and keeps the data, make clean-up deletes it.
Logs: %s
`, time.Since(began).Seconds(), p.AdminKubeconfig(), filepath.Dir(p.Kubectl()), filepath.Join(dir, "logs"))
	return nil
}

// status shows the processes of the control plane in the folder.
func status(ctx context.Context, out io.Writer, dir string) error {
	all, err := plane.Inspect(ctx, dir)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(out, "There is no control plane in %s: make up starts one.\n", dir)
		return nil
	}
	const row = "%-34s %-8s %-18s %s\n"
	fmt.Fprintf(out, row, "PROCESS", "PID", "ADDRESS", "STATUS")
	running := 0
	for _, s := range all {
		pid, what := "-", "ready"
		if s.Err != nil {
			what = s.Err.Error()
		}
		if s.PID != 0 {
			running++
			pid = fmt.Sprint(s.PID)
		}
		fmt.Fprintf(out, row, s.Name, pid, s.Address, what)
	}
	if running > 0 {
		fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", filepath.Join(dir, "admin.kubeconfig"))
	}
	return nil
}
