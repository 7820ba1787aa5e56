// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// picture is what matters of a Service and its endpoints, in both clusters.
type picture struct {
	Labels    map[string]string
	Type      corev1.ServiceType
	External  string
	Ports     []corev1.ServicePort
	Endpoints []string // address, conditions, zone, hints, ports; each once
}

// picturesIn reads the Services of a namespace, with their endpoints. The options choose.
func picturesIn(ctx context.Context, c client.Client, namespace string, options ...client.ListOption) (map[string]picture, error) {
	options = append(options, client.InNamespace(namespace))
	services, parts := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	if err := c.List(ctx, services, options...); err != nil {
		return nil, err
	}
	if err := c.List(ctx, parts, options...); err != nil {
		return nil, err
	}
	pictures := map[string]picture{}
	for _, s := range services.Items {
		ports := slices.Clone(s.Spec.Ports)
		for i := range ports {
			ports[i].NodePort = 0
		}
		pictures[s.Name] = picture{Labels: s.Labels, Type: s.Spec.Type, External: s.Spec.ExternalName, Ports: ports}
	}
	for _, part := range parts.Items {
		owner := part.Labels[discoveryv1.LabelServiceName]
		p, ok := pictures[owner]
		if !ok {
			return nil, fmt.Errorf("slice %s is of service %q, which does not exist", part.Name, owner)
		}
		if len(part.Endpoints) > 1000 {
			return nil, fmt.Errorf("slice %s has %d endpoints", part.Name, len(part.Endpoints))
		}
		var ports []string
		for _, port := range part.Ports {
			ports = append(ports, fmt.Sprintf("%s/%s/%d", *port.Name, *port.Protocol, *port.Port))
		}
		slices.Sort(ports)
		for _, endpoint := range part.Endpoints {
			conditions := endpoint.Conditions
			zone, hints := "-", []discoveryv1.ForZone(nil)
			if endpoint.Zone != nil {
				zone = *endpoint.Zone
			}
			if endpoint.Hints != nil {
				hints = endpoint.Hints.ForZones
			}
			p.Endpoints = append(p.Endpoints, fmt.Sprint(part.AddressType, endpoint.Addresses, value(conditions.Ready), value(conditions.Serving), value(conditions.Terminating), zone, hints, ports))
		}
		slices.Sort(p.Endpoints)
		pictures[owner] = p
	}
	return pictures, nil
}

func value(of *bool) string {
	if of == nil {
		return "-"
	}
	return fmt.Sprint(*of)
}

// differs complains unless the copies in a namespace are those of all Services that the backend has there, no more.
func (v *discovered) differs(ctx context.Context, namespace string) error {
	there, err := picturesIn(ctx, v.b, namespace)
	if err != nil {
		return err
	}
	want := map[string]picture{}
	for name, p := range there {
		if p.Labels[gimbalv1.LabelBackend] != "" || p.Type == corev1.ServiceTypeExternalName && !v.externalNames {
			continue
		}
		labels := map[string]string{gimbalv1.LabelBackend: v.name, gimbalv1.LabelService: name, "app.kubernetes.io/managed-by": discoverer}
		for _, key := range includedLabels {
			if value, ok := p.Labels[key]; ok {
				labels[key] = value
			}
		}
		p.Labels = labels
		want[v.name+"-"+name] = p
	}
	got, err := v.copies(ctx, namespace)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New("copies (-want +got):\n" + diff[:min(len(diff), 4000)])
	}
	return nil
}

// copies reads the copies that are in a namespace.
func (v *discovered) copies(ctx context.Context, namespace string) (map[string]picture, error) {
	got, err := picturesIn(ctx, v.c, namespace, client.MatchingLabels{gimbalv1.LabelBackend: v.name})
	if err != nil {
		return nil, err
	}
	services := &corev1.ServiceList{}
	if err := v.c.List(ctx, services, client.InNamespace(namespace), client.MatchingLabels{gimbalv1.LabelBackend: v.name}); err != nil {
		return nil, err
	}
	for _, s := range services.Items {
		headless := s.Spec.ClusterIP == corev1.ClusterIPNone
		if headless == (s.Spec.Type == corev1.ServiceTypeExternalName) || len(s.Spec.Selector) > 0 || len(s.Annotations) > 0 {
			return nil, fmt.Errorf("%s has cluster IP %q, selector %v, annotations %v", s.Name, s.Spec.ClusterIP, s.Spec.Selector, s.Annotations)
		}
	}
	return got, nil
}

// copied waits until the copies are those that they should be.
func (v *discovered) copied() {
	v.t.Helper()
	finally(v.t, func(ctx context.Context) error { return v.differs(ctx, v.ns) })
}

// versions returns the UIDs and resource versions of all copies: equal ones were not written.
func (v *discovered) versions() map[string]string {
	v.t.Helper()
	found := map[string]string{}
	for _, list := range []client.ObjectList{&corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}} {
		if err := v.c.List(v.t.Context(), list, client.MatchingLabels{gimbalv1.LabelBackend: v.name}); err != nil {
			v.t.Fatal(err)
		}
		if err := eachOf(list, func(object client.Object) error {
			found[fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())] = string(object.GetUID()) + "@" + object.GetResourceVersion()
			return nil
		}); err != nil {
			v.t.Fatal(err)
		}
	}
	return found
}

// status waits until the status of the DiscoveryBackend has Discovered with a reason, and errors of these types.
func (v *discovered) status(reason string, types ...string) *gimbalv1.DiscoveryBackend {
	v.t.Helper()
	object := &gimbalv1.DiscoveryBackend{}
	finally(v.t, func(ctx context.Context) error {
		if err := v.c.Get(ctx, client.ObjectKey{Namespace: v.admin, Name: v.name}, object); err != nil {
			return err
		}
		var got, reasons []string
		for _, e := range object.Status.Errors {
			got = append(got, e.Type)
		}
		for _, c := range object.Status.Conditions {
			if c.Type == gimbalv1.ConditionDiscovered {
				reasons = append(reasons, c.Reason)
			}
		}
		if slices.Sort(got); !slices.Equal(got, types) || !slices.Equal(reasons, []string{reason}) {
			return fmt.Errorf("Discovered is %q, want %s; errors %+v, want %q", reasons, reason, object.Status.Errors, types)
		}
		return nil
	})
	return object
}

// leads waits until a discoverer has compared everything as the holder of the Lease.
func (v *discovered) leads(c *cleaner) {
	v.t.Helper()
	finally(v.t, func(context.Context) error {
		page, err := c.read("/metrics")
		if err == nil && (!strings.Contains(page, "gimbal_discoverer_cycle_duration_seconds_count") ||
			strings.Contains(page, `gimbal_discoverer_cycle_duration_seconds_count{backendname="`+v.name+`",backendtype="kubernetes"} 0`)) {
			err = errors.New("it has compared nothing: " + c.stderrText())
		}
		return err
	})
}

func lease(v *discovered) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v.admin, Name: v.name + "-discoverer"}}
}

// A line of the audit log.
type requests struct {
	Verb                     string
	User                     struct{ Username string }
	ObjectRef                struct{ Resource, Namespace, Name string }
	Annotations              map[string]string
	RequestReceivedTimestamp metav1.MicroTime
}

func (r requests) isWriteOfCopy() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) && slices.Contains([]string{"services", "endpointslices"}, r.ObjectRef.Resource)
}

// requests returns what users with a text in their name have requested from this cluster until now.
func (v *discovered) requests(user string) []requests {
	v.t.Helper()
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name(v.t, "mark")}}
	v.create(v.c, mark)
	var content []byte
	eventually(v.t, func(context.Context) (err error) {
		if content, err = os.ReadFile(v.audit); err == nil && !bytes.Contains(content, []byte(mark.Name)) {
			err = errors.New("the audit log is late")
		}
		return err
	})
	var found []requests
	for line := range bytes.Lines(content[:bytes.LastIndexByte(content, '\n')+1]) { // the last line may be incomplete
		var r requests
		if err := json.Unmarshal(line, &r); err != nil {
			v.t.Fatal(err)
		}
		if strings.Contains(r.User.Username, user) {
			found = append(found, r)
		}
	}
	return found
}
