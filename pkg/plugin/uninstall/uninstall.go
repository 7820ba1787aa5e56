// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package uninstall removes an installation in the only safe order: backends back in service, then the objects while their
// controllers run, then registrations, then workloads, then the namespaces. A registered API that is unavailable blocks the
// deletion of every namespace of a cluster, and an owner that is no longer served keeps the garbage collector from deleting
// what belongs to it.
//
// Inspect reads what there is, NewPlan decides (a pure function), and Run does it. Each step reads again what is left to do,
// so that it can be interrupted at any moment and started again.
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
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

// groups returns the API groups of Groundskeeper.
func groups() sets.Set[string] {
	return sets.New(gardenerv1beta1.GroupName, kubernikusv1.GroupName, midonetv1.GroupName, gimbalv1.GroupName)
}

// Run performs all steps. After an interruption or a failure, the caller inspects the cluster again and calls Run with the result.
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
		{"release the objects of Cluster API", !u.abandons(Klusters), u.unhook},
		{"delete DiscoveryBackends", !served(gimbalv1.GroupName), u.deleteBackends},
		{"delete Translations", !served(midonetv1.GroupName), u.deleteTranslations},
		{"delete Projects", !served(gardenerv1beta1.GroupName), u.deleteProjects},
		{"wait for what belonged to them", f.Served.Len() == 0, func(ctx context.Context) (string, error) {
			return u.waitForDependents(ctx, f.Served)
		}},
		{"check that no object of Groundskeeper is left", false, func(ctx context.Context) (string, error) {
			return "", u.mustBeEmpty(ctx, f.Served)
		}},
		{"confirm the removal of the API server", false, u.confirmRemoval},
		{"remove what is registered", false, u.deleteRegistrations},
		{"remove what runs", false, u.deleteParts},
		{"remove the namespaces of the installation", u.KeepData, u.deleteNamespaces},
		{"withdraw the confirmation", !u.KeepData, u.withdrawConfirmation},
	}
}

// done returns what a step reports that has done something to objects, "" if there were none, or if it failed.
func done(count int, what string, err error) (string, error) {
	if err != nil || count == 0 {
		return "", err
	}
	return fmt.Sprintf("%d %s", count, what), nil
}

// left is what a step still waits for.
type left struct {
	// names are what is left. As long as they change, there is progress.
	names []string
	// why is what blocks it. It is reported, and is no progress.
	why string
}

// String returns a line of progress.
func (l left) String() string {
	const most = 3
	text := strings.Join(l.names[:min(most, len(l.names))], ", ")
	if more := len(l.names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if l.why != "" {
		text += ": " + l.why
	}
	return text
}

// errDenied means that what is left was denied, and waiting does not help.
var errDenied = errors.New("denied")

// until polls until nothing is left. It fails if there was no progress for the timeout, and states what blocks it. A temporary
// failure is shown, and counts as no progress.
func (u *Uninstaller) until(ctx context.Context, what string, list func(context.Context) (left, error)) error {
	progress := time.Now()
	var last left
	for first := true; ; first = false {
		now, err := list(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errDenied):
			return err
		case err != nil:
			now = left{last.names, err.Error()}
		case len(now.names) == 0:
			return nil
		}
		if !first && !slices.Equal(now.names, last.names) {
			progress = time.Now()
		}
		last = now
		u.Show(fmt.Sprintf("%s: %s", what, last))
		if time.Since(progress) >= u.Timeout {
			return fmt.Errorf("no progress for %s (%s): resolve the cause, and repeat this command", u.Timeout, last)
		}
		if err := kit.Pause(ctx, u.poll); err != nil {
			return err
		}
	}
}

// remove deletes the very object that was seen. If it no longer exists, or was recreated, nothing is done: the next check
// reports it.
func (u *Uninstaller) remove(
	ctx context.Context, resource schema.GroupVersionResource, namespace, name, uid string, propagation metav1.DeletionPropagation,
) error {
	err := u.Metadata.Resource(resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: new(types.UID(uid))}, PropagationPolicy: &propagation,
	})
	if apierrors.IsConflict(err) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", resource.Resource, strings.TrimPrefix(namespace+"/"+name, "/"), err)
	}
	return nil
}
