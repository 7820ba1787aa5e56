// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// namespaces: what happens to services whose namespace is not here.
func (d *clusters) namespaces(t *testing.T) {
	for _, missing := range []gimbalv1.MissingNamespacePolicy{gimbalv1.MissingNamespaceWait, gimbalv1.MissingNamespaceCreate, gimbalv1.MissingNamespaceIgnore} {
		v := d.discover(t, false)
		lacking := name(t, "lacking")
		v.makeNamespace(v.b, lacking)
		web := v.service("web")
		web.Namespace = lacking
		v.create(v.b, web, v.service("web"))
		c := v.runAs(discoverer, "--namespaces-allow="+v.ns+","+lacking, "--namespaces-missing="+string(missing))
		v.leads(c)
		v.copied()
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lacking}}
		switch missing {
		case gimbalv1.MissingNamespaceWait:
			object := v.status("Incomplete", gimbalv1.ErrorNamespaceMissing)
			if !strings.Contains(object.Status.Errors[0].Message, lacking) {
				t.Errorf("message: %s", object.Status.Errors[0].Message)
			}
			v.create(v.c, namespace)
		case gimbalv1.MissingNamespaceIgnore:
			v.status("Synced")
			v.create(v.c, namespace)
		case gimbalv1.MissingNamespaceCreate:
			eventually(t, func(ctx context.Context) error { return v.c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace) })
			if namespace.Labels["app.kubernetes.io/managed-by"] != discoverer {
				t.Errorf("labels: %v", namespace.Labels)
			}
		}
		eventually(t, func(ctx context.Context) error { return v.differs(ctx, lacking) })
		v.status("Synced")
		c.terminate()
	}
}

// names: what a person or another backend has is not touched, and its name is taken when it is free.
func (d *clusters) names(t *testing.T) {
	v := d.discover(t, false)
	mine, theirs := v.service(v.name+"-web"), v.service(v.name+"-db")
	mine.Labels = map[string]string{"mine": "yes"}
	theirs.Labels = map[string]string{gimbalv1.LabelBackend: "another", gimbalv1.LabelService: "db", "app.kubernetes.io/managed-by": discoverer}
	v.create(v.c, mine, theirs)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"), v.service("db"), v.service("free"))
	v.run()
	object := v.status("Incomplete", gimbalv1.ErrorConflict, gimbalv1.ErrorConflict)
	messages := object.Status.Errors[0].Message + object.Status.Errors[1].Message
	if !strings.Contains(messages, "belongs to backend another") || !strings.Contains(messages, mine.Name) || *object.Status.Services != 1 {
		t.Errorf("status: %+v", object.Status)
	}
	for _, object := range []*corev1.Service{mine, theirs} {
		now := &corev1.Service{}
		if err := v.c.Get(t.Context(), client.ObjectKeyFromObject(object), now); err != nil || now.ResourceVersion != object.ResourceVersion {
			t.Errorf("%s was touched: %v, %+v", object.Name, err, now)
		}
	}
	v.delete(v.c, mine, theirs)
	v.copied()
	v.status("Synced")
}

// collisions: of two services of the backend with one name here the first keeps it, and the second gets it afterwards.
func (d *clusters) collisions(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service(strings.Repeat("long", 15)+"abc"))
	v.run()
	var shortened string
	eventually(t, func(ctx context.Context) error {
		found, err := v.copies(ctx, v.ns)
		if len(found) != 1 {
			return errors.Join(err, fmt.Errorf("copies: %v", found))
		}
		shortened = slices.Collect(maps.Keys(found))[0]
		return nil
	})
	if len(shortened) >= 63 {
		t.Errorf("%s has %d characters", shortened, len(shortened))
	}
	before := v.versions()
	// A service may be called like a shortened one.
	v.create(v.b, v.service(strings.TrimPrefix(shortened, v.name+"-")))
	object := v.status("Incomplete", gimbalv1.ErrorNameCollision)
	if !strings.Contains(object.Status.Errors[0].Message, shortened) {
		t.Errorf("message: %s", object.Status.Errors[0].Message)
	}
	if err := diffError(before, v.versions()); err != nil {
		t.Error(err)
	}
	v.delete(v.b, v.service(strings.Repeat("long", 15)+"abc"))
	v.copied()
	v.status("Synced")
}

// suspicious: a first listing that lacks most services deletes nothing until a second one lacks them, too.
func (d *clusters) suspicious(t *testing.T) {
	v := d.discover(t, false)
	for i := range 12 {
		v.create(v.b, v.service(fmt.Sprintf("s%d", i)))
	}
	first := v.run()
	v.copied()
	v.leads(first)
	first.terminate()
	before := v.versions()
	for i := range 8 {
		v.delete(v.b, v.service(fmt.Sprintf("s%d", i)))
	}
	second := v.run()
	second.message("waiting for a second one")
	if err := diffError(before, v.versions()); err != nil {
		t.Error(err)
	}
	v.create(v.b, v.service("s0"))
	v.copied()
	for key, version := range v.versions() {
		if before[key] != version {
			t.Errorf("%s was written", key)
		}
	}
	if deleted := slices.IndexFunc(v.requests(v.user(discoverer)), func(r requests) bool { return r.Verb == "delete" }); deleted < 0 {
		t.Error("nothing was deleted")
	}
}
