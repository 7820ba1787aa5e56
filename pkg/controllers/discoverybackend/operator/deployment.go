// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
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

// desiredDeployment runs the discoverer of a backend with credentials that are usable.
//
// A new pod is ready before the old one is deleted. The Secret is mounted without its other keys. The discoverer reads it at
// startup only, so that later changes reach the discoverer by a new pod, after Groundskeeper has checked them.
func desiredDeployment(backend *gimbalv1.DiscoveryBackend, usable credentials, image string, adminNamespaces, denied []string) *appsapply.DeploymentApplyConfiguration {
	labels := partLabels(backend)
	return appsapply.Deployment(partName(backend), backend.Namespace).
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
				WithAnnotations(map[string]string{annotationDigest: usable.digest}).
				WithSpec(podSpec(backend, usable, image, adminNamespaces, denied))))
}

func podSpec(backend *gimbalv1.DiscoveryBackend, usable credentials, image string, adminNamespaces, denied []string) *coreapply.PodSpecApplyConfiguration {
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
			WithArgs(arguments(backend, usable, adminNamespaces, denied)...).
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

// arguments returns the command line of the discoverer. A backend outside the admin namespaces discovers what is to be in
// its own namespace, whatever its author wrote: the API server sees to that, and this does once more.
func arguments(backend *gimbalv1.DiscoveryBackend, usable credentials, adminNamespaces, denied []string) []string {
	cluster := &backend.Cluster
	args := []string{string(cluster.Type), "--backend-name=" + backend.Name, "--backend-namespace=" + backend.Namespace}
	interval := "--resync-interval"
	if cluster.Type == gimbalv1.BackendOpenStack {
		interval = "--reconciliation-period"
	} else {
		args = append(args, "--discover-kubecfg-file="+credentialsDirectory+"/"+keyKubeconfig)
	}
	if cluster.RefreshInterval != nil {
		args = append(args, fmt.Sprintf("%s=%ds", interval, *cluster.RefreshInterval))
	}
	if slices.Contains(usable.keys, keyCAData) {
		args = append(args, "--openstack-certificate-authority="+credentialsDirectory+"/"+keyCAData)
	}
	allow := cluster.Namespaces.Allow
	if !reachesAll(backend, adminNamespaces) {
		allow = []string{backend.Namespace}
	}
	for flag, names := range map[string][]string{
		"--namespaces-allow=": allow, "--namespaces-deny=": cluster.Namespaces.Deny,
		"--addresses-allow=": cluster.Addresses.Allow, "--addresses-deny=": denied,
	} {
		if len(names) > 0 {
			args = append(args, flag+strings.Join(names, ","))
		}
	}
	if cluster.Namespaces.Missing != "" {
		args = append(args, "--namespaces-missing="+string(cluster.Namespaces.Missing))
	}
	if cluster.ExternalNames && cluster.Type == gimbalv1.BackendKubernetes { // nothing of OpenStack is one
		args = append(args, "--external-names")
	}
	if cluster.ServicePolicy == gimbalv1.ServicesExported {
		args = append(args, "--service-policy="+string(cluster.ServicePolicy))
	}
	args = append(args, copiedArguments(cluster)...)
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

// ownerReference returns the owner reference to the backend.
func ownerReference(backend *gimbalv1.DiscoveryBackend) *metaapply.OwnerReferenceApplyConfiguration {
	return metaapply.OwnerReference().
		WithAPIVersion(gimbalv1.SchemeGroupVersion.String()).
		WithKind("DiscoveryBackend").
		WithName(backend.Name).
		WithUID(backend.UID).
		WithController(true)
}
