// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package console serves a page about Groundskeeper's objects on loopback, with the credentials of the user who runs
// "kubectl groundskeeper console". It is read-only unless the caller passes actions (actions.go). It watches the kinds of
// Groundskeeper (watch.go), caches what the page lists (store.go), and sends changes to the page as server-sent events (stream.go).
// Everything about one object is read from the API server when the page requests it (object.go, network.go); routes are watched once
// their page was opened (traffic.go, flows.go). Findings are those of "status" and "why": the caller passes the functions that return
// them.
package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// Kind is a kind of objects that the console shows.
type Kind struct {
	// Title is its name in the plural, Name is the one that users type.
	Title, Name string
	// Object and List return empty ones.
	Object func() client.Object
	List   func() client.ObjectList
	// Global kinds have no namespace.
	Global bool
	// Findings are what a list reports about an object.
	Findings func(client.Object, time.Time) []report.Finding
	// Why returns what blocks an object, as the command "why", with the error if part of that could not be found out.
	Why func(context.Context, client.Object) (*report.Report, error)
	// Denied is the message for a user who is not allowed to list the kind.
	Denied string
}

// Options are what the console shows, and of which cluster.
type Options struct {
	// Connect creates a client. It is called again when the cluster did not serve a kind, because clients cache that.
	Connect func() (client.WithWatch, error)
	Kinds   []Kind
	// Namespace limits lists to one namespace, "" is all.
	Namespace string
	// Health checks the installation, as the command "check".
	Health func(context.Context) *report.Report
	// Others reports what is about no object of Groundskeeper, as the command "status", for the UIDs of all Projects, nil if they are
	// unknown.
	Others func(ctx context.Context, projects map[string]types.UID) *report.Report
	// Config reads the configuration of the controller manager.
	Config func(context.Context) (*v1alpha1.ControllerManagerConfiguration, error)
	// Source returns how to find and read objects of kinds that the cluster may not serve, for the page about routes.
	Source func() (resourcewatch.Finder, resourcewatch.Source, error)
	// Actions are the changes that the page offers. Without any the console is read-only.
	Actions []Action
	// Explain adds a remedy to an error of a client.
	Explain func(error) error
	Clock   clock.PassiveClock
	// Cluster is the name of the cluster on the page, Context and User are those of the kubeconfig.
	Cluster, Context, User string
}

const (
	// healthInterval is the pause between two checks of the installation.
	healthInterval = 30 * time.Second
	// ageInterval is the pause between two updates of the durations in findings.
	ageInterval = 15 * time.Second
	// shutdownTimeout limits how long requests may take after the console was interrupted.
	shutdownTimeout = time.Second
)

// Run serves the page until ctx is done. listening is called with its URL, which contains a token and works once.
func Run(ctx context.Context, o Options, listening func(url string)) error {
	connection, err := o.Connect()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	s := newStore(o)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	for _, k := range o.Kinds {
		if o.Namespace == "" || !k.Global {
			background.Go(func() { (&follower{options: o, kind: k, store: s, client: connection}).run(ctx) })
		}
	}
	background.Go(func() { wait.UntilWithContext(ctx, s.checkHealth, healthInterval) })
	background.Go(func() { wait.UntilWithContext(ctx, func(context.Context) { s.age() }, ageInterval) })

	follows := &traffic{options: o, run: func(f func(context.Context)) { background.Go(func() { f(ctx) }) }}
	g := newGuard(listener.Addr().(*net.TCPAddr).Port, len(o.Actions) > 0)
	server := &http.Server{
		Handler: g.protect(routes(&reader{Options: o, client: connection, store: s, traffic: follows},
			g)), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	background.Go(func() {
		<-ctx.Done()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close() // only responses to a closed page are left
		}
	})
	listening(g.url())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the console: %w", err)
	}
	return nil
}
