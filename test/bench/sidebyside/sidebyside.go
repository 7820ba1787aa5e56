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
	"strings"
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

// Options specify how much is measured.
type Options struct {
	// Rounds is how often each contender has its turn.
	Rounds int
	// Objects is how many objects live in each round, Workers how many clients there are.
	Objects, Workers int
}

// comparison is one run.
type comparison struct {
	*plane.Plane
	Options
	reporter *report.Reporter
	table    strings.Builder
	spaces   int
}

// Run starts a control plane, measures, reports each figure, and ends with the table of docs/performance.md.
func Run(ctx context.Context, reporter *report.Reporter, options Options) error {
	if options.Rounds < 1 || options.Objects < 1 || options.Workers < 1 {
		return fmt.Errorf("%+v: each needs to be at least 1", options)
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, SharedEtcd: true, PlainEtcd: true,
		// Fairness between users is not what is compared: many clients of one user would wait in its queues.
		KubeAPIServerFlags: []string{"--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000"},
	})
	if err != nil {
		return err
	}
	defer func() { _ = p.Stop(context.WithoutCancel(ctx)) }()
	c := &comparison{Plane: p, Options: options, reporter: reporter}
	c.table.WriteString(tableHead)
	for _, step := range []func(context.Context) error{c.prepare, c.memory, c.lives, c.lists, c.watches} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(reporter.Users, "\n%s", c.table.String())
	return err
}

// prepare makes the CustomResourceDefinition.
func (c *comparison) prepare(ctx context.Context) error {
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	crd, err := definition()
	if err != nil {
		return err
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := client.Resource(definitions).Create(ctx, &unstructured.Unstructured{Object: crd}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the CustomResourceDefinition: %w", err)
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
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, object, metav1.CreateOptions{})
	return name, err
}
