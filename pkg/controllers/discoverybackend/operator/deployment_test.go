// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestArguments(t *testing.T) {
	kubernetes := credentials{keys: []string{keyKubeconfig}}
	for name, tc := range map[string]struct {
		namespace string
		change    func(*gimbalv1.Cluster)
		usable    credentials
		want      []string
		denied    []string
	}{
		"kubernetes": {adminNamespace, func(*gimbalv1.Cluster) {}, kubernetes, []string{"kubernetes", "--backend-name=east", "--backend-namespace=gimbal-discovery",
			"--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--namespaces-missing=Wait", "--resync-interval=1800s"}, nil},
		"addresses": {adminNamespace, func(c *gimbalv1.Cluster) { c.Addresses.Allow = []string{"10.0.0.0/8", "10.96.0.1/32"} }, kubernetes, []string{"kubernetes",
			"--addresses-allow=10.0.0.0/8,10.96.0.1/32", "--addresses-deny=10.96.0.1/32,192.0.2.1/32", "--backend-name=east", "--backend-namespace=gimbal-discovery",
			"--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--namespaces-missing=Wait", "--resync-interval=1800s"}, []string{"10.96.0.1/32", "192.0.2.1/32"}},
		"all of it": {adminNamespace, func(c *gimbalv1.Cluster) {
			c.Debug, c.ExternalNames, c.RefreshInterval = true, true, new(int32(7))
			c.Namespaces = gimbalv1.NamespacePolicy{Allow: []string{"a", "b"}, Deny: []string{"c"}, Missing: gimbalv1.MissingNamespaceCreate}
		}, kubernetes, []string{"kubernetes", "--backend-name=east", "--backend-namespace=gimbal-discovery", "--debug",
			"--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--external-names", "--namespaces-allow=a,b", "--namespaces-deny=c",
			"--namespaces-missing=Create", "--resync-interval=7s"}, nil},
		"what is copied": {adminNamespace, func(c *gimbalv1.Cluster) {
			c.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"publish": "true"}, MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "api"}},
			}}
			c.Labels = gimbalv1.LabelPolicy{Include: []string{"app.kubernetes.io/instance"}, Exclude: []string{"a", "b.example/"}, Add: map[string]string{"z": "1", "c": ""}}
			c.Annotations = []string{"x.example/y", "z"}
		}, kubernetes, []string{"kubernetes", "--backend-name=east", "--backend-namespace=gimbal-discovery", "--copy-annotations=x.example/y,z",
			"--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--labels-add=c=,z=1", "--labels-exclude=a,b.example/",
			"--labels-include=app.kubernetes.io/instance", "--namespaces-missing=Wait", "--resync-interval=1800s", "--selector=publish=true,tier in (api,web)"}, nil},
		"exported": {adminNamespace, func(c *gimbalv1.Cluster) { c.ServicePolicy = gimbalv1.ServicesExported }, kubernetes, []string{"kubernetes", "--backend-name=east",
			"--backend-namespace=gimbal-discovery", "--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--namespaces-missing=Wait",
			"--resync-interval=1800s", "--service-policy=Exported"}, nil},
		"no zones": {adminNamespace, func(c *gimbalv1.Cluster) { c.ZonePolicy = gimbalv1.ZonesOmit }, kubernetes, []string{"kubernetes", "--backend-name=east",
			"--backend-namespace=gimbal-discovery", "--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--namespaces-missing=Wait",
			"--resync-interval=1800s", "--zone-policy=Omit"}, nil},
		"an empty selector": {adminNamespace, func(c *gimbalv1.Cluster) { c.Selector = &metav1.LabelSelector{} }, kubernetes, []string{"kubernetes", "--backend-name=east",
			"--backend-namespace=gimbal-discovery", "--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--namespaces-missing=Wait", "--resync-interval=1800s"}, nil},
		// Any content by its author.
		"elsewhere": {"shop", func(c *gimbalv1.Cluster) { c.Namespaces.Allow = []string{"bank", "shop"} }, kubernetes, []string{"kubernetes", "--backend-name=east",
			"--backend-namespace=shop", "--discover-kubecfg-file=/etc/groundskeeper/credentials/config", "--namespaces-allow=shop", "--namespaces-missing=Wait", "--resync-interval=1800s"}, nil},
		"openstack": {adminNamespace, func(c *gimbalv1.Cluster) {
			c.Type, c.RefreshInterval, c.ExternalNames = gimbalv1.BackendOpenStack, new(int32(30)), true
			c.ZonePolicy = gimbalv1.ZonesOmit
		},
			credentials{keys: []string{keyAuthURL, keyCAData}}, []string{"openstack", "--backend-name=east", "--backend-namespace=gimbal-discovery",
				"--namespaces-missing=Wait", "--openstack-certificate-authority=/etc/groundskeeper/credentials/certificate-authority-data", "--reconciliation-period=30s"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			backend := testBackend(tc.namespace, "east")
			tc.change(&backend.Cluster)
			if got := arguments(backend, tc.usable, []string{adminNamespace}, tc.denied); !slices.Equal(got, tc.want) {
				t.Errorf("got %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestVariables checks that the Deployment contains no password: variables refer to the Secret, and only to keys that exist.
func TestVariables(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	if got := variables(backend, credentials{keys: []string{keyKubeconfig}}); len(got) > 0 {
		t.Errorf("kubernetes has %d variables", len(got))
	}
	backend.Cluster.Type = gimbalv1.BackendOpenStack
	got := map[string]string{}
	for _, variable := range variables(backend, credentials{keys: []string{keyAuthURL, keyPassword, keyClouds}}) {
		switch {
		case variable.ValueFrom != nil:
			got[*variable.Name] = *variable.ValueFrom.SecretKeyRef.Name + "/" + *variable.ValueFrom.SecretKeyRef.Key
		default:
			got[*variable.Name] = *variable.Value
		}
	}
	want := map[string]string{"OS_AUTH_URL": "creds/auth-url", "OS_PASSWORD": "creds/password", "OS_CLIENT_CONFIG_FILE": "/etc/groundskeeper/credentials/clouds.yaml"}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

// TestDesiredDeployment checks the documented properties of the pod: one replica, replaced without interruption, compliant with the
// restricted profile.
func TestDesiredDeployment(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	found := findings{credentials: credentials{keys: []string{keyKubeconfig}, digest: "d"}}
	spec := deployed(backend, found, "image", []string{adminNamespace}).desired.(*appsapply.DeploymentApplyConfiguration).Spec
	rolling, pod := spec.Strategy.RollingUpdate, spec.Template.Spec
	if *spec.Replicas != 1 || rolling.MaxSurge.IntValue() != 1 || rolling.MaxUnavailable.IntValue() != 0 {
		t.Error("there is a gap, or there are two")
	}
	if spec.Template.Annotations[annotationDigest] != "d" || spec.Template.Labels[gimbalv1.LabelBackend] != "east" {
		t.Errorf("the pods have %v, %v", spec.Template.Annotations, spec.Template.Labels)
	}
	container := pod.Containers[0]
	if !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" ||
		*container.SecurityContext.AllowPrivilegeEscalation || !*container.SecurityContext.ReadOnlyRootFilesystem ||
		!slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Error("the pod is not restricted")
	}
	if *container.LivenessProbe.HTTPGet.Path != "/healthz" || *container.ReadinessProbe.HTTPGet.Path != "/readyz" || *container.Ports[0].ContainerPort != metricsPort {
		t.Error("the probes are not at the page's addresses")
	}
	if items := pod.Volumes[0].Secret.Items; len(items) != 1 || *items[0].Key != keyKubeconfig {
		t.Error("more of the Secret is mounted than is used")
	}
	if *pod.ServiceAccountName != "east-discoverer" || !*pod.AutomountServiceAccountToken || *container.Image != "image" {
		t.Error("the pod runs something else, or as another client")
	}
}
