// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/plane/image"
)

// discoverer is the name of the binary, and of its image.
const discoverer = "groundskeeper-discoverer"

type upOptions struct {
	binDir, artifacts            string
	config                       string
	apiserverFlags, managerFlags string
	midonet, ovn                 string
	images                       string
}

// up starts everything, creates the example Project if it was never created, and prints the next steps.
func up(ctx context.Context, out io.Writer, dir string, o upOptions) error {
	began := time.Now()
	report := func(line string) { fmt.Fprintln(out, line) }
	if o.midonet != "" && o.midonet != "fake" {
		return fmt.Errorf("--midonet (MIDONET of make): %q is not known; \"fake\" starts a fake of MidoNet, empty starts none", o.midonet)
	}
	if o.ovn != "" && o.ovn != "real" {
		return fmt.Errorf("--ovn (OVN of make): %q is not known; \"real\" starts OVN's own servers, empty starts none", o.ovn)
	}
	if o.ovn != "" && (o.midonet != "" || o.images != "") {
		return errors.New("--ovn (OVN of make) has its own nodes and is the only backend: start without --midonet (MIDONET) and --node (make node-up)")
	}
	options := plane.Options{
		Dir:            dir,
		BinDir:         o.binDir,
		Artifacts:      o.artifacts,
		APIServers:     1,
		Managers:       1,
		Webhooks:       true,
		MidoNet:        o.midonet == "fake",
		OVN:            o.ovn == "real",
		ManagerConfig:  o.config,
		APIServerFlags: strings.Fields(o.apiserverFlags),
		ManagerFlags:   strings.Fields(o.managerFlags),
		Detached:       true,
		Progress:       report,
	}
	if o.images != "" {
		if err := withNode(&options, o.images); err != nil {
			return err
		}
	}
	p, err := plane.Start(ctx, options)
	if err != nil {
		return err
	}
	for _, line := range waiting(ctx, "http://"+p.Managers[0].Address()+"/statusz") {
		report(line)
	}
	if err := example(ctx, p, filepath.Join(o.artifacts, "examples", "project.yaml"), report); err != nil {
		return err
	}
	fmt.Fprintf(out, `
The control plane is ready after %.1f s. To use it:

  export KUBECONFIG=%s
  export PATH=%s:$PATH
  kubectl get projects
  kubectl explain project.spec

%s%s%smake status shows its processes, make down stops it and keeps the data, make clean-up deletes it.
Logs: %s
`, time.Since(began).Seconds(), quoted(p.AdminKubeconfig()), quoted(filepath.Dir(p.Kubectl())), midonet(p), ovn(p), node(p), filepath.Join(dir, "logs"))
	return nil
}

// quoted returns a path as a shell reads it.
func quoted(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%,=", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// midonet describes how to inspect the fake of MidoNet; empty for a plane without it.
func midonet(p *plane.Plane) string {
	if p.MidoNet == nil {
		return ""
	}
	return fmt.Sprintf(`The fake of MidoNet is at %[1]s. It has the hosts %[2]s.

  curl %[3]s    # what it holds
  curl -X PUT %[3]shosts/NAME    # one more host, for a Node of that name

`, p.MidoNetURL(), strings.Join(plane.MidoNetHosts(), ", "), p.MidoNetPages())
}

// ovn describes how to send packets through OVN; empty for a plane without it.
func ovn(p *plane.Plane) string {
	if p.OVN == nil {
		return ""
	}
	return fmt.Sprintf(`OVN runs, with the nodes %s. %s shows its databases and Pods.

  export PATH=%s:$PATH    # ovn-nbctl, ovn-sbctl, ovn-trace
  kubectl create -f artifacts/examples/ovn/pods.yaml

%s

`, strings.Join(plane.OVNNodes(), " and "), p.OVNPage(), quoted(filepath.Join(p.OVNDirectory(), "bin")), packets(p))
}

// packets is the next step: with root, a command in a Pod.
func packets(p *plane.Plane) string {
	if _, err := os.Stat(filepath.Join(p.OVNDirectory(), "nodes")); err != nil {
		return "Without root there are no packets, and ovn-trace shows their way: docs/ovn.md has an example."
	}
	return "  nsenter --net=" + quoted(filepath.Join(p.OVNDirectory(), "pods/default/client")) +
		" curl http://$(kubectl get service web -o jsonpath={.spec.clusterIP})"
}

// withNode adds a node with the images of the directory, and runs discoverers from theirs.
func withNode(options *plane.Options, directory string) error {
	options.Node = true
	for _, name := range []string{"pause", discoverer} {
		options.Images = append(options.Images, filepath.Join(directory, name+".tar"))
	}
	var err error
	options.DiscovererImage, err = image.Reference(filepath.Join(directory, discoverer+".tar"))
	return err
}

// node describes what the node can do; empty for a plane without one.
func node(p *plane.Plane) string {
	if p.Node == nil {
		return ""
	}
	return fmt.Sprintf(`Node %s runs pods of the images that are in it, %s among them: a DiscoveryBackend gets its
discoverer (kubectl explain discoverybackend). Pods reach other planes of this machine at %s, and not the internet.

`, plane.NodeName, discoverer, p.Address())
}

// status shows the processes of the control plane in the directory.
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
	for _, s := range all {
		if s.PID != 0 && s.Page != "" {
			fmt.Fprintf(out, "\n%s shows what it holds at %s\n", s.Name, s.Page)
		}
	}
	if running > 0 {
		fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", quoted(filepath.Join(dir, "admin.kubeconfig")))
	}
	return nil
}

// waiting returns a line for each reason for which controllers wait for permissions, from the status page of the controller
// manager. They start automatically once these are granted. A gap in the page is no reason to fail, because all processes are
// ready.
func waiting(ctx context.Context, page string) []string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return nil
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	var status struct {
		Controllers []struct {
			Name, State string
			Reasons     []string
		}
	}
	if json.NewDecoder(response.Body).Decode(&status) != nil {
		return nil
	}
	names := map[string][]string{}
	for _, c := range status.Controllers {
		if c.State == "waiting" {
			reason := strings.Join(c.Reasons, "; ")
			names[reason] = append(names[reason], c.Name)
		}
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, fmt.Sprintf("%-32s waiting: %s (%s)", "Controllers", reason, strings.Join(names[reason], ", ")))
	}
	return lines
}
