// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/audit"
)

// adminNamespace is where backends live that publish in every namespace.
const adminNamespace = "gimbal-discovery"

// backend is a DiscoveryBackend with a dedicated namespace in both clusters.
type backend struct {
	// in is the cluster that has it.
	in        *cluster
	object    *gimbalv1.DiscoveryBackend
	secret    *corev1.Secret
	name      string
	namespace string
}

// newBackend creates a backend that discovers one namespace, with the credentials of a user of the remote cluster.
func newBackend(t *testing.T, name, user string) *backend {
	t.Helper()
	return newBackendIn(t, here, name, user)
}

func newBackendIn(t *testing.T, in *cluster, name, user string) *backend {
	t.Helper()
	b := &backend{in: in, name: name, namespace: name + "-apps"}
	for _, c := range []*cluster{in, there} {
		create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}})
	}
	b.secret = secretOf(name, kubeconfigOf(t, user))
	b.object = &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: name}}
	// The backend is queried as often as everything is compared.
	b.object.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: name, RefreshInterval: new(int32(2))}
	b.object.Cluster.Namespaces.Allow = []string{b.namespace}
	b.object.Cluster.Labels.Include = []string{"app"}
	create(t, in, b.secret, b.object)
	return b
}

// kubeconfigOf returns the kubeconfig of a user of the backend cluster, who may list what discoverers list.
func kubeconfigOf(t *testing.T, user string) []byte {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "discoverers"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "discoverers"}}}
	for _, object := range []client.Object{role, binding} {
		if err := there.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := there.KubeconfigFor(path, user, "discoverers"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// secretOf returns a Secret of a backend.
func secretOf(name string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: name}, Data: map[string][]byte{"config": kubeconfig}}
}

// account returns the user that the pods of the backend are.
func (b *backend) account() string {
	return "system:serviceaccount:" + adminNamespace + ":" + b.name + "-discoverer"
}

// publish creates a service with two addresses in the backend.
func (b *backend) publish(t *testing.T, name string) {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name, Labels: map[string]string{"app": name}}}
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	slice.AddressType = discoveryv1.AddressTypeIPv4
	slice.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}}
	slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}, {Addresses: []string{"192.0.2.2"}}}
	create(t, there, service, slice)
}

// copied waits until the service has its copy, addresses included.
func (b *backend) copied(t *testing.T, name string) {
	t.Helper()
	app := ""
	if slices.Contains(b.object.Cluster.Labels.Include, "app") {
		app = name
	}
	eventually(t, func(ctx context.Context) error {
		service := &corev1.Service{}
		if err := b.in.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: b.name + "-" + name}, service); err != nil {
			return err
		}
		spec := service.Spec
		if spec.ClusterIP != corev1.ClusterIPNone || len(spec.Ports) != 1 || spec.Ports[0].Port != 80 || service.Labels["app"] != app {
			return fmt.Errorf("the copy is %+v, %+v", service.Labels, spec)
		}
		slices := &discoveryv1.EndpointSliceList{}
		if err := b.in.List(ctx, slices, client.InNamespace(b.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}); err != nil {
			return err
		}
		if len(slices.Items) != 1 || len(slices.Items[0].Endpoints) != 2 || *slices.Items[0].Ports[0].Port != 8080 {
			return fmt.Errorf("the copied slices are %+v", slices.Items)
		}
		return nil
	})
}

// becomes waits until conditions are Type=Status or Type=Status/Reason.
func (b *backend) becomes(t *testing.T, wanted ...string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := b.in.Get(ctx, client.ObjectKeyFromObject(b.object), b.object); err != nil {
			return err
		}
		for _, want := range wanted {
			if !slices.ContainsFunc(b.object.Status.Conditions, func(c metav1.Condition) bool {
				short := c.Type + "=" + string(c.Status)
				return want == short || want == short+"/"+c.Reason
			}) {
				return fmt.Errorf("%s is not: conditions %+v, errors %+v", want, b.object.Status.Conditions, b.object.Status.Errors)
			}
		}
		return nil
	})
}

// works waits until the backend is discovered without a complaint.
func (b *backend) works(t *testing.T) {
	t.Helper()
	b.becomes(t, "Available=True/DiscovererRunning", "CredentialsValid=True", "Discovered=True")
	eventually(t, func(ctx context.Context) error {
		if err := b.in.Get(ctx, client.ObjectKeyFromObject(b.object), b.object); err != nil {
			return err
		}
		if len(b.object.Status.Errors) > 0 {
			return fmt.Errorf("errors: %+v", b.object.Status.Errors)
		}
		return nil
	})
}

// complains waits until status.errors has an AuthenticationError, and returns its message.
func (b *backend) complains(t *testing.T) string {
	t.Helper()
	message := ""
	eventually(t, func(ctx context.Context) error {
		if err := b.in.Get(ctx, client.ObjectKeyFromObject(b.object), b.object); err != nil {
			return err
		}
		for _, entry := range b.object.Status.Errors {
			if entry.Type == gimbalv1.ErrorAuthentication {
				message = entry.Message
				return nil
			}
		}
		return errors.New("status.errors has no AuthenticationError")
	})
	return message
}

// pods returns those of the backend.
func (b *backend) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := b.in.List(ctx, list, client.InNamespace(adminNamespace), client.MatchingLabels{"app.kubernetes.io/instance": b.name})
	return list.Items, err
}

// onlyPod waits until the backend has one pod, which is ready and not the one named, and returns it.
func (b *backend) onlyPod(t *testing.T, not string) corev1.Pod {
	t.Helper()
	var only corev1.Pod
	eventually(t, func(ctx context.Context) error {
		pods, err := b.pods(ctx)
		if err != nil {
			return err
		}
		if len(pods) != 1 || !isReady(&pods[0]) || pods[0].Name == not {
			return fmt.Errorf("%d pods: %+v", len(pods), pods)
		}
		only = pods[0]
		return nil
	})
	return only
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// copyWrites returns the writes of the discoverer to Services and EndpointSlices.
func (b *backend) copyWrites(t *testing.T) []audit.Event {
	t.Helper()
	return b.in.requests(t, func(r audit.Event) bool {
		return r.User.Username == b.account() && r.Writes() && (r.ObjectRef.Resource == "services" || r.ObjectRef.Resource == "endpointslices")
	})
}

// rejectedKubeconfig returns the kubeconfig with a token that was not issued.
func rejectedKubeconfig(t *testing.T, good []byte) []byte {
	t.Helper()
	config, err := clientcmd.Load(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		*user = api.AuthInfo{Token: "nobody-gave-this-out"}
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
