// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package uninstall removes an installation in the only safe order: backends back in service, then the objects while their
// controllers run, then registrations, then workloads, then the namespaces. A registered API that is unavailable blocks the
// deletion of every namespace of a cluster, and an owner that is not served any more keeps the garbage collector from deleting
// what belongs to it.
//
// Look reads what there is, NewPlan decides (a pure function), and Run does it. Each step reads again what is left to do,
// so that it can be interrupted at any moment and started again.
package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

const (
	// SystemNamespace is where Groundskeeper's servers run.
	SystemNamespace = "groundskeeper-system"
	// partOf is the label of all that an installation is made of, and product its value.
	partOf, product = "app.kubernetes.io/part-of", "groundskeeper"
)

// Kinds that can be abandoned: deleted without cleaning up their resources.
const (
	Translations = "translations"
	Klusters     = "klusters"
)

// Values of the options.
const (
	Keep    = "keep"
	Delete  = "delete"
	Detach  = "detach"
	Deorbit = "deorbit"
)

// Options configure what happens to objects of users.
type Options struct {
	// Projects is Keep, their namespaces stay, or Delete.
	Projects string
	// Klusters is Detach, nothing of their clusters is touched, or Deorbit.
	Klusters string
	// Abandon names kinds whose finalizers are removed without a cleanup.
	Abandon []string
	// KeepData keeps the namespaces of the installation, and with them volumes.
	KeepData bool
	// ConfigFile is the file of the controller manager's configuration, where it is not in the cluster.
	ConfigFile string
	// Timeout is how long a step may wait without any progress.
	Timeout time.Duration
}

// Validate returns what is wrong with the options.
func (o Options) Validate() error {
	for _, flag := range []struct {
		name, value string
		allowed     []string
	}{{"projects", o.Projects, []string{Keep, Delete}}, {"klusters", o.Klusters, []string{Detach, Deorbit}}} {
		if !slices.Contains(flag.allowed, flag.value) {
			return fmt.Errorf("--%s: %q is not %s", flag.name, flag.value, strings.Join(flag.allowed, " or "))
		}
	}
	for _, kind := range o.Abandon {
		if kind != Translations && kind != Klusters {
			return fmt.Errorf("--abandon: %q is not %s or %s", kind, Translations, Klusters)
		}
	}
	if o.Timeout <= 0 {
		return fmt.Errorf("--timeout: %s is not positive", o.Timeout)
	}
	return nil
}

func (o Options) abandons(kind string) bool { return slices.Contains(o.Abandon, kind) }

// Uninstaller removes an installation.
type Uninstaller struct {
	Options
	Client    client.Client
	Metadata  metadata.Interface
	Discovery discovery.ServerResourcesInterfaceWithContext
	// Why returns what blocks an object, "" when nothing is known.
	Why func(context.Context, client.Object) string
	// Show shows how far a step is; Done ends a step with a line that stays.
	Show, Done func(line string)
	// poll is the pause between two checks.
	poll time.Duration
}

// groups are the API groups of Groundskeeper.
func groups() sets.Set[string] {
	return sets.New(gardenerv1beta1.GroupName, kubernikusv1.GroupName, midonetv1.GroupName, gimbalv1.GroupName)
}

// Run takes all steps. When it is interrupted or fails, it is to be called again with a new look.
func (u *Uninstaller) Run(ctx context.Context, found *Found) error {
	if u.poll == 0 {
		u.poll = time.Second
	}
	for _, s := range u.steps(found) {
		if s.skip {
			continue
		}
		line, err := s.do(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted while it was to %s: the same command continues", s.what)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if line != "" {
			u.Done(line)
		}
	}
	return nil
}

// step is one of the sequence. It returns what it has done, "" for nothing.
type step struct {
	what string
	skip bool
	do   func(context.Context) (string, error)
}

// steps are all of them, in their order.
func (u *Uninstaller) steps(f *Found) []step {
	if f.NeverServed {
		return u.stepsWithoutObjects()
	}
	served := func(group string) bool { return f.Served.Has(group) }
	return []step{
		{"mark namespaces that stay", !served(gardenerv1beta1.GroupName) || u.Projects != Keep, u.keepNamespaces},
		{"stop the controller that writes Translations", !f.stopsConverter(), u.stopConverter},
		{"bring backends back to service", !served(gimbalv1.GroupName) || !f.Manager.Runs(controllerMaintenance), u.enableBackends},
		{"withdraw Klusters that are announced", !f.withdrawsKlusters(u.Options), u.withdrawKlusters},
		{"delete Klusters", !served(kubernikusv1.GroupName), u.deleteKlusters},
		{"delete DiscoveryBackends", !served(gimbalv1.GroupName), u.deleteBackends},
		{"delete Translations", !served(midonetv1.GroupName), u.deleteTranslations},
		{"delete Projects", !served(gardenerv1beta1.GroupName), u.deleteProjects},
		{"wait for what belonged to them", f.Served.Len() == 0, func(ctx context.Context) (string, error) { return u.waitForDependents(ctx, f.Served) }},
		{"check that no object of Groundskeeper is left", false, func(ctx context.Context) (string, error) { return "", u.mustBeEmpty(ctx, f.Served) }},
		{"remove what is registered", false, u.deleteRegistrations},
		{"remove what runs", false, u.deleteParts},
		{"remove the namespaces of the installation", u.KeepData, u.deleteNamespaces},
	}
}
