// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/identity"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/logging"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// backendSubject is the key of the ledger for problems with the backend as a whole.
const backendSubject = "backend"

// newLogger returns the logger of the process.
func newLogger(debug bool, format *logging.Format) logr.Logger {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	klog.InitFlags(flags)
	if debug {
		_ = flags.Set("v", "1") // a number is always valid
	}
	format.Install(os.Stderr)
	return klog.Background()
}

// connect creates the clients of this cluster and the replica that copies from the backend.
func (d *discoverer) connect(here *rest.Config, queue workqueue.TypedRateLimitingInterface[types.NamespacedName], there backend) error {
	querying, err := client.New(here)
	if err != nil {
		return err
	}
	watching, err := client.New(unlimited(here))
	if err != nil {
		return err
	}
	d.backends, d.leases = querying.DiscoveryBackends(d.backendNamespace), querying.Leases(d.backendNamespace)
	d.keeper = &identity.Keeper{Client: d.backends, Namespace: d.backendNamespace, Name: d.backend}
	d.maintenance = newMaintenance(d.backends, watching.DiscoveryBackends(d.backendNamespace), d.backendNamespace, d.backend, d.timeout,
		func(withheld bool) { d.replica.SetWithheld(withheld) })
	d.replica = replica.New(replica.Options{
		Backend: d.backend, Upstream: there, Client: querying, Watching: watching,
		Policy: d.policy(), Annotations: d.annotations, Labels: d.labels, Addresses: d.addresses, Selector: d.selected, Confined: d.confined(), Withheld: d.maintenance.withheld, Unknown: there.Unknown,
		Workers: d.threads, Resync: d.resync, Ledger: d.ledger, Meters: d.meters, Clock: clock.RealClock{},
	}, queue)
	d.there = there
	there.listen(d.replica)
	return nil
}

// recognize returns an error unless the observed identity is that of the recorded cluster.
func (d *discoverer) recognize(ctx context.Context, observed []gimbalv1.ClusterIdentity) error {
	return d.keeper.Check(ctx, observed)
}

// work writes copies until ctx is done. It retries if it cannot start.
func (d *discoverer) work(ctx context.Context) {
	for ctx.Err() == nil {
		err := d.replica.Work(ctx)
		if ctx.Err() != nil {
			return
		}
		logr.FromContextOrDiscard(ctx).Error(err, "Failed to start the replication, retrying")
		d.meters.Error("StartFailed")
		select {
		case <-ctx.Done():
		case <-time.After(d.timeout):
		}
	}
}

// handle returns the function that records problems with the backend; nil means that it responds as expected.
func (d *discoverer) handle(ctx context.Context) func(*report.Problem) {
	return func(problem *report.Problem) {
		if problem == nil {
			d.ledger.Set(backendSubject)
			return
		}
		d.meters.Error(problem.Type)
		for _, news := range d.ledger.Set(backendSubject, *problem) {
			logr.FromContextOrDiscard(ctx).Info("The backend does not respond as expected, retaining its copies unchanged", "type", news.Type, "problem", news.Message)
		}
	}
}

// state returns the status of the DiscoveryBackend without errors.
func (d *discoverer) state() report.State {
	last := d.replica.LastSync()
	copied, endpoints, services := d.meters.Totals()
	state := report.State{Counted: !last.IsZero(), Services: copied, Endpoints: endpoints, LastSync: last}
	state.Discovered = discovered(d.ledger.Entries(), copied, services, last)
	return state
}

// discovered returns the condition Discovered.
func discovered(entries []report.Entry, copied, services int, last time.Time) report.Discovered {
	for _, entry := range entries {
		if isAboutBackend(entry.Type) {
			return report.Discovered{Status: metav1.ConditionFalse, Reason: entry.Type, Message: entry.Message}
		}
	}
	switch {
	case last.IsZero():
		return report.Discovered{Status: metav1.ConditionFalse, Reason: report.ReasonPending, Message: "the backend is being listed and copied for the first time since the discoverer started"}
	case len(entries) > 0 && copied >= services:
		return report.Discovered{Status: metav1.ConditionFalse, Reason: report.ReasonIncomplete, Message: fmt.Sprintf("all %d services are copied, but not completely: see status.errors", services)}
	case len(entries) > 0:
		return report.Discovered{Status: metav1.ConditionFalse, Reason: report.ReasonIncomplete, Message: fmt.Sprintf("%d of %d services are copied: see status.errors for the others", copied, services)}
	default:
		return report.Discovered{Status: metav1.ConditionTrue, Reason: report.ReasonSynced, Message: "all services are copied"}
	}
}

// isAboutBackend reports whether an error is about the backend as a whole.
func isAboutBackend(kind string) bool {
	return kind == gimbalv1.ErrorAuthentication || kind == gimbalv1.ErrorConnection || kind == gimbalv1.ErrorAnotherCluster
}
