// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package sidebyside measures what the objects of one kind cost when Groundskeeper's API server serves them, and when a
// CustomResourceDefinition with an equal schema does, in one run on one control plane, turn by turn.
package sidebyside

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

// ordinaryUser has a role for the objects of both groups and is in no group of administrators.
const ordinaryUser = "bench"

// Options specify how much is measured.
type Options struct {
	// Rounds is how often each contender has its turn.
	Rounds int
	// Objects is how many objects live in each cycle of a round, Workers how many clients there are.
	Objects, Workers int
	// MoreWorkers are numbers of clients for which the cycle is measured besides.
	MoreWorkers []int
	// Lists are the numbers of objects that are listed.
	Lists []int
	// Watchers are the numbers of watchers that receive a change.
	Watchers []int
	// Growth are numbers of objects for which it is measured what there is of them, each larger than the one before.
	Growth []int
	// Parts are the names of what is measured (Parts), empty for all.
	Parts []string
	// Profiles is a directory for CPU profiles of both API servers, a second of each operation. They cost time, so that figures of
	// such a run are not to be compared with those of others. Empty: none.
	Profiles string
}

// Defaults returns the options of a whole run: well over an hour on two cores.
func Defaults() Options {
	return Options{Rounds: 7, Objects: 750, Workers: 16, MoreWorkers: []int{1, 64}, Lists: []int{1500, 10000}, Watchers: []int{1, 100, 200, 1000}, Growth: []int{1000, 10000, 100000}}
}

// comparison is one run.
type comparison struct {
	*plane.Plane
	Options
	reporter *report.Reporter
	spaces   int
}

// Run starts dedicated control planes, measures, and reports.
func Run(ctx context.Context, reporter *report.Reporter, options Options) error {
	if err := options.check(); err != nil {
		return err
	}
	if chosen := options.chosen(); len(chosen) > 0 {
		if err := on(ctx, reporter, options, plane.Options{}, chosen...); err != nil {
			return err
		}
	}
	if !options.wants(partGrowth) || len(options.Growth) == 0 {
		return nil
	}
	return on(ctx, reporter, options, plane.Options{Managers: 1, MidoNet: true}, part{partGrowth, (*comparison).growth})
}

// on runs parts on a plane, to whose options it adds what all of them have.
func on(ctx context.Context, reporter *report.Reporter, options Options, has plane.Options, parts ...part) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	has.Dir, has.APIServers, has.SharedEtcd, has.PlainEtcd = filepath.Join(dir, "plane"), 1, true, true
	// Fairness between users is not what is compared: 64 clients of one user would wait in its queues.
	has.KubeAPIServerFlags = []string{"--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000"}
	p, err := plane.Start(ctx, has)
	if err != nil {
		return err
	}
	defer func() { _ = p.Stop(context.WithoutCancel(ctx)) }()
	c := &comparison{Plane: p, Options: options, reporter: reporter}
	if err := c.prepare(ctx); err != nil {
		return fmt.Errorf("cannot prepare the comparison: %w", err)
	}
	if err := c.versions(ctx); err != nil {
		return err
	}
	for _, part := range parts {
		if err := part.run(c, ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// prepare makes the CustomResourceDefinition and the permissions of the ordinary user.
func (c *comparison) prepare(ctx context.Context) error {
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	crd, err := definition()
	if err != nil {
		return err
	}
	rbac := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
	}
	role := map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": ordinaryUser},
		"rules": []any{map[string]any{"apiGroups": []any{crdGroup, "midonet.org"}, "resources": []any{plural}, "verbs": []any{"*"}}},
	}
	binding := map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": ordinaryUser},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ordinaryUser},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ordinaryUser}},
	}
	for _, object := range []struct {
		resource schema.GroupVersionResource
		content  map[string]any
	}{
		{schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, crd},
		{rbac("clusterroles"), role}, {rbac("clusterrolebindings"), binding},
	} {
		if _, err := client.Resource(object.resource).Create(ctx, &unstructured.Unstructured{Object: object.content}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	served := schema.GroupVersionResource{Group: crdGroup, Version: "v1", Resource: plural}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(served).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// space makes a namespace, for one contender at a time.
func (c *comparison) space(ctx context.Context) (string, error) {
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return "", err
	}
	c.spaces++
	name := fmt.Sprintf("bench-%d", c.spaces)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, object, metav1.CreateOptions{})
	return name, err
}

// lives measures the cycle for an administrator and a user whose permissions have to be looked up, and for the administrator with
// each other number of workers.
func (c *comparison) lives(ctx context.Context) error {
	if err := c.cycles(ctx, []string{administrator, ordinary}, c.Workers); err != nil {
		return err
	}
	for _, workers := range c.MoreWorkers {
		if err := c.cycles(ctx, []string{administrator}, workers); err != nil {
			return err
		}
	}
	return nil
}
