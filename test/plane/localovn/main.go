// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Localovn is the OVN of a plane: OVN's own servers of both databases, ovn-northd, and two nodes with their chassis. With root, each
// chassis is a network namespace with ovs-vswitchd and ovn-controller, and each Pod of the nodes another one, behind an interface that is
// connected to the chassis. Without root, the chassis have no datapath: they only do in the Southbound database what ovn-controller does.
//
// It plays the kubelets of the nodes, without containers: it assigns an address to each Pod, and responds on the TCP ports of its
// containers with the name of the Pod.
//
// Nothing outlives the process: the kernel ends the servers with it, and takes the namespaces and the interfaces with them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"groundskeeper.io/groundskeeper/test/ovnserver"
	"groundskeeper.io/groundskeeper/test/ovnserver/simulated"
)

// settings are the flags. The plane gives all of them.
type settings struct {
	directory  string // of the files of the servers; deleted at the start
	address    string // host:port of the page, which also reports that the process is ready
	kubeconfig string
}

// serveCommand is the first argument of the process that plays the containers of a Pod.
const serveCommand = "serve"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) > 1 && args[0] == serveCommand {
		return serve(ctx, func() error { return ovnserver.DisableOffload("eth0") }, args[1], args[2:])
	}
	var s settings
	flags := flag.NewFlagSet("localovn", flag.ContinueOnError)
	for name, value := range map[string]*string{"directory": &s.directory, "address": &s.address, "kubeconfig": &s.kubeconfig} {
		flags.StringVar(value, name, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.directory == "" || s.address == "" || s.kubeconfig == "" || flags.NArg() > 0 {
		return errors.New("--directory, --address and --kubeconfig are required, and nothing else")
	}
	if err := os.RemoveAll(s.directory); err != nil {
		return err
	}
	return ovnserver.Outside(ctx, func(t testing.TB) error { return run(t, s) })
}

// pollInterval is how often the servers are checked, and how soon what failed is tried again.
const pollInterval = time.Second

// run starts the servers, and plays kubelets until the context ends or a server does.
func run(t testing.TB, s settings) error {
	ctx := t.Context()
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	server := ovnserver.Start(t, ovnserver.Options{Northd: true, Directory: s.directory})
	if err := writeTools(server, filepath.Join(s.directory, "bin")); err != nil {
		return err
	}
	ended := make(chan error, 1)
	k := &kubelets{t: t, clients: clients, directory: s.directory, guests: guests{}}
	servers := servers{"": server.PIDs()}
	if k.reason = ovnserver.ChassisPermitted(ctx); k.reason == nil {
		for i, chassis := range server.StartChassis(t, [2]string{nodes[0].name, nodes[1].name}) {
			if err := k.connectNode(nodes[i], chassis); err != nil {
				return err
			}
			servers[nodes[i].name+": "] = chassis.PIDs()
		}
	} else {
		chassis, err := simulated.Register(ctx, server.SouthboundEndpoints()[0], []string{nodes[0].name, nodes[1].name})
		if err != nil {
			return err
		}
		go func() { ended <- chassis.Run(ctx) }()
	}
	if err := k.registerNodes(ctx); err != nil {
		return err
	}

	changed := make(chan struct{}, 1)
	notify := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	informer := factory.Core().V1().Pods()
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, pod any) { notify(pod) }, DeleteFunc: notify,
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return nil
	}

	var page atomic.Pointer[string]
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	page.Store(new(k.page(server)))
	web := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, *page.Load())
	})}
	go web.Serve(listener) //nolint:errcheck // it ends with the process
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the chassis ended: %w", err)
		case <-ticker.C:
			if err := servers.check(); err != nil {
				return err
			}
			if !failed {
				continue
			}
		case <-changed:
		}
		err := k.reconcile(ctx, informer.Lister())
		if failed = err != nil; failed && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "%v: trying again\n", err)
		}
		page.Store(new(k.page(server)))
	}
}

// servers are process ids by the name of what runs them, and their own.
type servers map[string]map[string]int

// check fails if a server has ended, which is not reaped before this process ends.
func (s servers) check() error {
	for of, pids := range s {
		for name, pid := range pids {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || strings.Contains(string(stat), ") Z ") {
				return fmt.Errorf("%s%s (pid %d) has ended, see its log", of, name, pid)
			}
		}
	}
	return nil
}

// tools are the programs of OVN that users run.
var tools = []string{"ovn-nbctl", "ovn-sbctl", "ovn-trace"}

// writeTools writes a script for each tool to a directory, which finds the databases and the libraries.
func writeTools(server *ovnserver.Server, directory string) error {
	if err := os.Mkdir(directory, 0o700); err != nil {
		return err
	}
	variables := append(server.Environment(), "OVN_NB_DB="+server.Endpoint(), "OVN_SB_DB="+server.SouthboundEndpoints()[0])
	for i, variable := range variables {
		variables[i] = quoted(variable)
	}
	for _, tool := range tools {
		script := "#!/bin/sh\nexec env " + strings.Join(variables, " ") + " " + quoted(server.Program(tool)) + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(directory, tool), []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
			return err
		}
	}
	return nil
}

// quoted returns a word as a shell reads it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
