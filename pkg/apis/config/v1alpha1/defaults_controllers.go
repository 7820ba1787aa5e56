// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefaults_ControllersConfiguration sets defaults for unset fields.
func SetDefaults_ControllersConfiguration(obj *ControllersConfiguration) {
	obj.Enabled = listOr(obj.Enabled, "*")
}

// SetDefaults_ProjectControllerConfiguration sets defaults for unset fields.
func SetDefaults_ProjectControllerConfiguration(obj *ProjectControllerConfiguration) {
	obj.Authorization = cmp.Or(obj.Authorization, ProjectAuthorizationRoles)
	obj.ConcurrentSyncs = cmp.Or(obj.ConcurrentSyncs, new(int32(5)))
	obj.MinimumLifetimeDays = cmp.Or(obj.MinimumLifetimeDays, new(int32(30)))
	obj.StaleGracePeriodDays = cmp.Or(obj.StaleGracePeriodDays, new(int32(14)))
	obj.StaleExpirationTimeDays = cmp.Or(obj.StaleExpirationTimeDays, new(int32(90)))
	obj.StaleNoticeDays = cmp.Or(obj.StaleNoticeDays, new(int32(7)))
	obj.StaleSyncPeriod = cmp.Or(obj.StaleSyncPeriod, &metav1.Duration{Duration: 12 * time.Hour})
	obj.StaleDryRun = cmp.Or(obj.StaleDryRun, new(false))
	obj.UsageResources = listOr(obj.UsageResources,
		"klusters.kubernikus.sap.cc", "discoverybackends.gimbal.heptio.com", "translations.midonet.org")
	obj.Quotas = listOr(obj.Quotas)
}

// SetDefaults_QuotaConfiguration sets defaults for unset fields.
func SetDefaults_QuotaConfiguration(obj *QuotaConfiguration) {
	obj.ProjectSelector = cmp.Or(obj.ProjectSelector, &metav1.LabelSelector{})
}

// SetDefaults_TranslationConfiguration sets defaults for unset fields.
func SetDefaults_TranslationConfiguration(obj *TranslationConfiguration) {
	obj.Tenant = cmp.Or(obj.Tenant, "midonetkube")
	obj.TunnelZoneName = cmp.Or(obj.TunnelZoneName, "DefaultTunnelZone")
	obj.ServiceTypes = listOr(obj.ServiceTypes, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)
	obj.NodeGracePeriod = cmp.Or(obj.NodeGracePeriod, &metav1.Duration{Duration: 5 * time.Minute})
}

// SetDefaults_PushConfiguration sets defaults for unset fields.
func SetDefaults_PushConfiguration(obj *PushConfiguration) {
	obj.Mode = cmp.Or(obj.Mode, PushModeRepair)
	obj.Concurrency = cmp.Or(obj.Concurrency, new(int32(16)))
	obj.DriftInterval = cmp.Or(obj.DriftInterval, &metav1.Duration{Duration: 10 * time.Minute})
	obj.Orphans = cmp.Or(obj.Orphans, OrphanPolicyReport)
}

// SetDefaults_MidoNetConfiguration sets defaults for unset fields.
func SetDefaults_MidoNetConfiguration(obj *MidoNetConfiguration) {
	obj.Timeout = cmp.Or(obj.Timeout, &metav1.Duration{Duration: 4 * time.Second})
}

// SetDefaults_OVNConfiguration sets defaults for unset fields.
func SetDefaults_OVNConfiguration(obj *OVNConfiguration) {
	obj.Endpoints = listOr(obj.Endpoints)
	obj.SouthboundEndpoints = listOr(obj.SouthboundEndpoints)
	obj.NodeAddressTypes = listOr(obj.NodeAddressTypes, corev1.NodeInternalIP)
	obj.VerifyHost = cmp.Or(obj.VerifyHost, new(true))
	obj.Timeout = cmp.Or(obj.Timeout, &metav1.Duration{Duration: 4 * time.Second})
}

// SetDefaults_DiscoveryConfiguration sets defaults for unset fields.
func SetDefaults_DiscoveryConfiguration(obj *DiscoveryConfiguration) {
	obj.AdminNamespaces = listOr(obj.AdminNamespaces, "gimbal-discovery")
	obj.DrainConcurrency = cmp.Or(obj.DrainConcurrency, new(int32(16)))
	obj.IngressRoute = cmp.Or(obj.IngressRoute, new(true))
	obj.KeepRemovedReferences = cmp.Or(obj.KeepRemovedReferences, &metav1.Duration{Duration: 7 * 24 * time.Hour})
	obj.MaxAutomaticMaintenance = cmp.Or(obj.MaxAutomaticMaintenance, new(int32(1)))
	obj.OtherKinds = listOr(obj.OtherKinds)
}

// SetDefaults_KlusterConfiguration sets defaults for unset fields.
func SetDefaults_KlusterConfiguration(obj *KlusterConfiguration) {
	obj.Enabled = cmp.Or(obj.Enabled, new(false))
	obj.ConcurrentSyncs = cmp.Or(obj.ConcurrentSyncs, new(int32(20)))
	deorbit, gc, openstack := &obj.Deorbit, &obj.RouteGC, &obj.OpenStack
	deorbit.Timeout = cmp.Or(deorbit.Timeout, &metav1.Duration{Duration: 24 * time.Hour})
	deorbit.StageTimeout = cmp.Or(deorbit.StageTimeout, &metav1.Duration{Duration: time.Hour})
	deorbit.APIUnavailableTimeout = cmp.Or(deorbit.APIUnavailableTimeout, &metav1.Duration{Duration: 2 * time.Minute})
	deorbit.ServiceGracePeriod = cmp.Or(deorbit.ServiceGracePeriod, &metav1.Duration{Duration: 2 * time.Minute})
	deorbit.PollInterval = cmp.Or(deorbit.PollInterval, &metav1.Duration{Duration: 15 * time.Second})
	deorbit.CSIDrivers, deorbit.LoadBalancerClasses = listOr(deorbit.CSIDrivers), listOr(deorbit.LoadBalancerClasses)
	gc.Enabled = cmp.Or(gc.Enabled, new(true))
	gc.Interval = cmp.Or(gc.Interval, &metav1.Duration{Duration: 5 * time.Minute})
	gc.ConfirmAfter = cmp.Or(gc.ConfirmAfter, &metav1.Duration{Duration: 30 * time.Second})
	gc.MaxRemovalFraction = cmp.Or(gc.MaxRemovalFraction, new(0.5))
	gc.DryRun = cmp.Or(gc.DryRun, new(false))
	openstack.QPS = cmp.Or(openstack.QPS, new(float32(20)))
	openstack.Burst = cmp.Or(openstack.Burst, new(int32(40)))
	openstack.Timeout = cmp.Or(openstack.Timeout, &metav1.Duration{Duration: 30 * time.Second})
	setClusterAPI(&obj.ClusterAPI)
}

func setClusterAPI(obj *ClusterAPIConfiguration) {
	obj.Enabled = cmp.Or(obj.Enabled, new(false))
	obj.Namespaces = listOr(obj.Namespaces)
	obj.DrainTimeout = cmp.Or(obj.DrainTimeout, &metav1.Duration{Duration: 30 * time.Minute})
	obj.VerifyTimeout = cmp.Or(obj.VerifyTimeout, &metav1.Duration{Duration: 4 * time.Hour})
	obj.RuntimeExtension = cmp.Or(obj.RuntimeExtension, new(false))
}

// SetDefaults_LocalVolumeConfiguration sets defaults for unset fields.
func SetDefaults_LocalVolumeConfiguration(obj *LocalVolumeConfiguration) {
	obj.StorageClassNames = listOr(obj.StorageClassNames)
	obj.PVCDeletionDelay = cmp.Or(obj.PVCDeletionDelay, &metav1.Duration{Duration: time.Minute})
	obj.UnknownNodeDeletionDelay = cmp.Or(obj.UnknownNodeDeletionDelay, &metav1.Duration{Duration: time.Hour})
	obj.UnreachableNodeDelay = cmp.Or(obj.UnreachableNodeDelay, &metav1.Duration{})
	obj.StalePVDiscoveryInterval = cmp.Or(obj.StalePVDiscoveryInterval, &metav1.Duration{Duration: 10 * time.Second})
	obj.MaxMissingNodeFraction = cmp.Or(obj.MaxMissingNodeFraction, new(0.55))
	obj.NodeTopologyKeys = listOr(obj.NodeTopologyKeys, "kubernetes.io/hostname")
	obj.WorkerThreads = cmp.Or(obj.WorkerThreads, new(int32(10)))
	obj.VolumeSources = listOr(obj.VolumeSources, VolumeSourceLocal)
	obj.CSIDrivers = listOr(obj.CSIDrivers)
	obj.DriverGracePeriod = cmp.Or(obj.DriverGracePeriod, &metav1.Duration{Duration: 10 * time.Minute})
	for _, option := range []**bool{&obj.DeletePendingPods, &obj.IncludeFailedVolumes, &obj.DeleteVolumesOfUnknownNodes,
		&obj.OutOfServiceNodes, &obj.ProofOfLife, &obj.StorageClassAnnotations, &obj.ReleaseCSIVolumes, &obj.DryRun} {
		*option = cmp.Or(*option, new(false))
	}
}
