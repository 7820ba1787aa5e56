// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

const (
	// annotationDigest is on the pods: other credentials are other pods.
	annotationDigest = "groundskeeper.io/credentials-digest"

	credentialsVolume    = "credentials"
	credentialsDirectory = "/etc/groundskeeper/credentials"
	metricsPort          = 8080
	metricsPortName      = "metrics"
	// discovererUser is an arbitrary user, but not root.
	discovererUser int64 = 65532
)

// deployed runs the discoverer of a backend with credentials that are usable.
//
// A new pod is ready before the old one is deleted. The Secret is mounted without its other keys. The discoverer reads it at
// startup only, so that later changes reach the discoverer by a new pod, after Groundskeeper has checked them.
func deployed(backend *gimbalv1.DiscoveryBackend, found findings, image string, admins []string) part {
	labels := partLabels(backend)
	desired := appsapply.Deployment(partName(backend), backend.Namespace).
		WithLabels(labels).
		WithOwnerReferences(ownerReference(backend)).
		WithSpec(appsapply.DeploymentSpec().
			WithReplicas(1).
			WithRevisionHistoryLimit(2).
			WithSelector(metaapply.LabelSelector().WithMatchLabels(selectorLabels(backend.Name))).
			WithStrategy(appsapply.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsapply.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromInt32(1)).
					WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(coreapply.PodTemplateSpec().
				WithLabels(labels).
				WithAnnotations(map[string]string{annotationDigest: found.credentials.digest}).
				WithSpec(podSpec(backend, found, image, admins))))
	return part{desired, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: partName(backend)}}}
}

func podSpec(backend *gimbalv1.DiscoveryBackend, found findings, image string, admins []string) *coreapply.PodSpecApplyConfiguration {
	usable := found.credentials
	secret := coreapply.SecretVolumeSource().WithSecretName(backend.Cluster.SecretName()).WithDefaultMode(0o440)
	for _, key := range usable.keys {
		secret.WithItems(coreapply.KeyToPath().WithKey(key).WithPath(key))
	}
	return coreapply.PodSpec().
		WithServiceAccountName(partName(backend)).
		WithAutomountServiceAccountToken(true).
		WithEnableServiceLinks(false).
		WithSecurityContext(coreapply.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(discovererUser).
			WithRunAsGroup(discovererUser).
			WithFSGroup(discovererUser).
			WithSeccompProfile(coreapply.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithVolumes(coreapply.Volume().WithName(credentialsVolume).WithSecret(secret)).
		WithContainers(coreapply.Container().
			WithName("discoverer").
			WithImage(image).
			WithImagePullPolicy(corev1.PullIfNotPresent).
			WithArgs(arguments(backend, usable, admins, found.denied)...).
			WithEnv(variables(backend, usable)...).
			WithPorts(coreapply.ContainerPort().WithName(metricsPortName).WithContainerPort(metricsPort).WithProtocol(corev1.ProtocolTCP)).
			WithLivenessProbe(probe("/healthz", 6)).
			WithReadinessProbe(probe("/readyz", 3)).
			WithVolumeMounts(coreapply.VolumeMount().WithName(credentialsVolume).WithMountPath(credentialsDirectory).WithReadOnly(true)).
			WithResources(coreapply.ResourceRequirements().
				WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")}).
				WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")})).
			WithSecurityContext(coreapply.SecurityContext().
				WithAllowPrivilegeEscalation(false).
				WithReadOnlyRootFilesystem(true).
				WithCapabilities(coreapply.Capabilities().WithDrop("ALL"))))
}

// arguments returns the command line of the discoverer. Only what is set has a flag, so that a new flag does not restart the discoverers
// of other backends. A backend outside the admin namespaces discovers what is to be in
// its own namespace, whatever its author wrote: the API server sees to that, and this does once more.
func arguments(backend *gimbalv1.DiscoveryBackend, usable credentials, adminNamespaces, denied []string) []string {
	cluster := &backend.Cluster
	args := []string{string(cluster.Type)}
	add := func(flag string, values ...string) {
		if len(values) > 0 {
			args = append(args, "--"+flag+"="+strings.Join(values, ","))
		}
	}
	add("backend-name", backend.Name)
	add("backend-namespace", backend.Namespace)
	interval := "resync-interval"
	if cluster.Type == gimbalv1.BackendOpenStack {
		interval = "reconciliation-period"
	} else {
		add("discover-kubecfg-file", credentialsDirectory+"/"+keyKubeconfig)
	}
	if cluster.RefreshInterval != nil {
		add(interval, fmt.Sprintf("%ds", *cluster.RefreshInterval))
	}
	if usable.flag != "" {
		args = append(args, "--"+usable.flag)
	}
	if slices.Contains(usable.keys, keyCAData) {
		add("openstack-certificate-authority", credentialsDirectory+"/"+keyCAData)
	}
	allow := cluster.Namespaces.Allow
	if status.Reach(backend, adminNamespaces) != metav1.NamespaceAll {
		allow = []string{backend.Namespace}
	}
	add("namespaces-allow", allow...)
	add("namespaces-deny", cluster.Namespaces.Deny...)
	add("addresses-allow", cluster.Addresses.Allow...)
	add("addresses-deny", denied...)
	if cluster.Namespaces.Missing != "" {
		add("namespaces-missing", string(cluster.Namespaces.Missing))
	}
	if cluster.ServicePolicy == gimbalv1.ServicesExported {
		add("service-policy", string(cluster.ServicePolicy))
	}
	if cluster.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(cluster.Selector)
		switch {
		case err != nil:
			// Validation rejects such a selector. Without a valid one nothing may be selected by accident.
			add("selector", metav1.FormatLabelSelector(cluster.Selector))
		case !selector.Empty():
			add("selector", selector.String())
		}
	}
	add("labels-include", cluster.Labels.Include...)
	add("labels-exclude", cluster.Labels.Exclude...)
	var added []string
	for _, key := range slices.Sorted(maps.Keys(cluster.Labels.Add)) {
		added = append(added, key+"="+cluster.Labels.Add[key])
	}
	add("labels-add", added...)
	if cluster.Type == gimbalv1.BackendKubernetes { // OpenStack's load balancers have none of these
		add("copy-annotations", cluster.Annotations...)
		if cluster.ExternalNames {
			args = append(args, "--external-names")
		}
		if cluster.ZonePolicy == gimbalv1.ZonesOmit {
			add("zone-policy", string(cluster.ZonePolicy))
		}
	}
	if cluster.Debug {
		args = append(args, "--debug")
	}
	slices.Sort(args[1:])
	return args
}

// variables returns the environment that a discoverer of OpenStack reads. A running process keeps what it started with.
func variables(backend *gimbalv1.DiscoveryBackend, usable credentials) []*coreapply.EnvVarApplyConfiguration {
	if backend.Cluster.Type != gimbalv1.BackendOpenStack {
		return nil
	}
	var env []*coreapply.EnvVarApplyConfiguration
	for _, entry := range environment() {
		if slices.Contains(usable.keys, entry.key) {
			env = append(env, coreapply.EnvVar().WithName(entry.variable).WithValueFrom(coreapply.EnvVarSource().
				WithSecretKeyRef(coreapply.SecretKeySelector().WithName(backend.Cluster.SecretName()).WithKey(entry.key))))
		}
	}
	if slices.Contains(usable.keys, keyClouds) {
		env = append(env, coreapply.EnvVar().WithName("OS_CLIENT_CONFIG_FILE").WithValue(credentialsDirectory+"/"+keyClouds))
	}
	return env
}

func probe(path string, failures int32) *coreapply.ProbeApplyConfiguration {
	return coreapply.Probe().
		WithHTTPGet(coreapply.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(metricsPortName))).
		WithPeriodSeconds(5).
		WithTimeoutSeconds(2).
		WithFailureThreshold(failures)
}
