// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package rivalcrd finds CustomResourceDefinitions of group versions that Groundskeeper's API server serves.
//
// While the management cluster has one, its kube-apiserver manages the APIService of that group version: it reverts the
// registration of Groundskeeper within seconds and serves the definition's objects instead. Therefore nothing may be registered
// until the objects have been moved (docs/migration.md). A server whose group versions are all taken is not ready. One that serves
// others remains ready: a user who may create a definition of one group must not stop the others, nor the deletion of every namespace
// of the cluster, which waits for them.
package rivalcrd

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Finder finds conflicting CustomResourceDefinitions in a cluster.
type Finder struct {
	names    metadata.Interface
	contents dynamic.Interface
	served   []schema.GroupVersion
}

// NewFinder returns a Finder for the group versions that Groundskeeper's API server serves.
func NewFinder(cluster *rest.Config, served []schema.GroupVersion) (*Finder, error) {
	names, err := metadata.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	contents, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	return &Finder{names, contents, served}, nil
}

// Find returns the names of the definitions that serve one of the group versions, sorted. It does not read a state from before its call.
func (f *Finder) Find(ctx context.Context) ([]string, error) {
	rivals, _, err := f.find(ctx)
	return rivals, err
}

// find also returns the group versions that are taken, each once.
func (f *Finder) find(ctx context.Context) (rivals []string, taken []schema.GroupVersion, err error) {
	list, err := f.names.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	for i := range list.Items {
		name := list.Items[i].Name
		if !slices.ContainsFunc(f.served, func(served schema.GroupVersion) bool { return strings.HasSuffix(name, "."+served.Group) }) {
			continue
		}
		definition, err := f.contents.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
		}
		if conflicts := takenBy(definition, f.served); len(conflicts) > 0 {
			rivals = append(rivals, name)
			taken = append(taken, slices.DeleteFunc(conflicts, func(gv schema.GroupVersion) bool { return slices.Contains(taken, gv) })...)
		}
	}
	slices.Sort(rivals)
	return rivals, taken, nil
}

func takenBy(definition *unstructured.Unstructured, served []schema.GroupVersion) []schema.GroupVersion {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var taken []schema.GroupVersion
	for _, entry := range versions {
		version, _ := entry.(map[string]any)
		name, _ := version["name"].(string)
		if gv := (schema.GroupVersion{Group: group, Version: name}); version["served"] == true && slices.Contains(served, gv) {
			taken = append(taken, gv)
		}
	}
	return taken
}

// Conflict returns the error that names rivals, nil when there are none.
func Conflict(rivals []string) error {
	if len(rivals) == 0 {
		return nil
	}
	return fmt.Errorf("the cluster has CustomResourceDefinitions of group versions that groundskeeper-apiserver serves: %s; "+
		"its kube-apiserver takes those group versions back: move their objects and delete the definitions (docs/migration.md)",
		strings.Join(rivals, ", "))
}

// period is how long a result of the readiness check is cached.
const period = 30 * time.Second

// ReadyCheck returns a readiness check that fails while rivals have taken every group version of the server. It queries the cluster
// periodically, and logs rivals that are new; what it cannot find out does not make the server unready.
func (f *Finder) ReadyCheck() healthz.HealthChecker {
	var lock sync.Mutex
	var requested time.Time
	var known []string
	var last error
	return healthz.NamedCheck("no-rival-definitions", func(request *http.Request) error {
		lock.Lock()
		defer lock.Unlock()
		if time.Since(requested) < period {
			return last
		}
		logger := klog.FromContext(request.Context())
		rivals, taken, err := f.find(request.Context())
		if err != nil {
			logger.V(2).Info("Failed to list CustomResourceDefinitions in Groundskeeper's API groups", "err", err)
		} else {
			conflict := Conflict(rivals)
			if conflict != nil && !slices.Equal(rivals, known) { // the response itself has no reason
				logger.Error(conflict, "Not serving all group versions", "taken", taken)
			}
			known, last = rivals, nil
			if len(taken) == len(f.served) {
				last = conflict
			}
		}
		requested = time.Now()
		return last
	})
}
