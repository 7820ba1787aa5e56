// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefaults_ControllersConfiguration sets defaults for unset fields.
func SetDefaults_ControllersConfiguration(obj *ControllersConfiguration) {
	if obj.Enabled == nil {
		obj.Enabled = []string{"*"}
	}
}

// SetDefaults_ProjectControllerConfiguration sets defaults for unset fields.
func SetDefaults_ProjectControllerConfiguration(obj *ProjectControllerConfiguration) {
	if obj.Authorization == "" {
		obj.Authorization = ProjectAuthorizationRoles
	}
	if obj.ConcurrentSyncs == nil {
		obj.ConcurrentSyncs = new(int32(5))
	}
	if obj.MinimumLifetimeDays == nil {
		obj.MinimumLifetimeDays = new(int32(30))
	}
	if obj.StaleGracePeriodDays == nil {
		obj.StaleGracePeriodDays = new(int32(14))
	}
	if obj.StaleExpirationTimeDays == nil {
		obj.StaleExpirationTimeDays = new(int32(90))
	}
	if obj.StaleNoticeDays == nil {
		obj.StaleNoticeDays = new(int32(7))
	}
	if obj.StaleSyncPeriod == nil {
		obj.StaleSyncPeriod = &metav1.Duration{Duration: 12 * time.Hour}
	}
	if obj.StaleDryRun == nil {
		obj.StaleDryRun = new(false)
	}
	if obj.UsageResources == nil {
		obj.UsageResources = []string{"klusters.kubernikus.sap.cc", "discoverybackends.gimbal.heptio.com", "translations.midonet.org"}
	}
	if obj.Quotas == nil {
		obj.Quotas = []QuotaConfiguration{}
	}
}

// SetDefaults_QuotaConfiguration sets defaults for unset fields.
func SetDefaults_QuotaConfiguration(obj *QuotaConfiguration) {
	if obj.ProjectSelector == nil {
		obj.ProjectSelector = &metav1.LabelSelector{}
	}
}

// SetDefaults_TranslationConfiguration sets defaults for unset fields.
func SetDefaults_TranslationConfiguration(obj *TranslationConfiguration) {
	if obj.Tenant == "" {
		obj.Tenant = "midonetkube"
	}
	if obj.TunnelZoneName == "" {
		obj.TunnelZoneName = "DefaultTunnelZone"
	}
	if obj.ServiceTypes == nil {
		obj.ServiceTypes = []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer}
	}
	if obj.NodeGracePeriod == nil {
		obj.NodeGracePeriod = &metav1.Duration{Duration: 5 * time.Minute}
	}
}

// SetDefaults_PushConfiguration sets defaults for unset fields.
func SetDefaults_PushConfiguration(obj *PushConfiguration) {
	if obj.Mode == "" {
		obj.Mode = PushModeRepair
	}
	if obj.Concurrency == nil {
		obj.Concurrency = new(int32(16))
	}
	if obj.DriftInterval == nil {
		obj.DriftInterval = &metav1.Duration{Duration: 10 * time.Minute}
	}
	if obj.Orphans == "" {
		obj.Orphans = OrphanPolicyReport
	}
}

// SetDefaults_MidoNetConfiguration sets defaults for unset fields.
func SetDefaults_MidoNetConfiguration(obj *MidoNetConfiguration) {
	if obj.Timeout == nil {
		obj.Timeout = &metav1.Duration{Duration: 4 * time.Second}
	}
}

// SetDefaults_OVNConfiguration sets defaults for unset fields.
func SetDefaults_OVNConfiguration(obj *OVNConfiguration) {
	if obj.Endpoints == nil {
		obj.Endpoints = []string{}
	}
	if obj.SouthboundEndpoints == nil {
		obj.SouthboundEndpoints = []string{}
	}
	if obj.VerifyHost == nil {
		obj.VerifyHost = new(true)
	}
	if obj.Timeout == nil {
		obj.Timeout = &metav1.Duration{Duration: 4 * time.Second}
	}
}

// SetDefaults_DiscoveryConfiguration sets defaults for unset fields.
func SetDefaults_DiscoveryConfiguration(obj *DiscoveryConfiguration) {
	if obj.AdminNamespaces == nil {
		obj.AdminNamespaces = []string{"gimbal-discovery"}
	}
	if obj.DrainConcurrency == nil {
		obj.DrainConcurrency = new(int32(16))
	}
	if obj.IngressRoute == nil {
		obj.IngressRoute = new(true)
	}
	if obj.KeepRemovedReferences == nil {
		obj.KeepRemovedReferences = &metav1.Duration{Duration: 7 * 24 * time.Hour}
	}
	if obj.MaxAutomaticMaintenance == nil {
		obj.MaxAutomaticMaintenance = new(int32(1))
	}
	if obj.OtherKinds == nil {
		obj.OtherKinds = []OtherKind{}
	}
}

// SetDefaults_KlusterConfiguration sets defaults for unset fields.
func SetDefaults_KlusterConfiguration(obj *KlusterConfiguration) {
	if obj.Enabled == nil {
		obj.Enabled = new(false)
	}
	if obj.ConcurrentSyncs == nil {
		obj.ConcurrentSyncs = new(int32(20))
	}
	deorbit, gc, openstack := &obj.Deorbit, &obj.RouteGC, &obj.OpenStack
	for _, period := range []struct {
		field    **metav1.Duration
		fallback time.Duration
	}{
		{&deorbit.Timeout, 24 * time.Hour}, {&deorbit.StageTimeout, time.Hour}, {&deorbit.APIUnavailableTimeout, 2 * time.Minute},
		{&deorbit.ServiceGracePeriod, 2 * time.Minute}, {&deorbit.PollInterval, 15 * time.Second},
	} {
		if *period.field == nil {
			*period.field = &metav1.Duration{Duration: period.fallback}
		}
	}
	if gc.Enabled == nil {
		gc.Enabled = new(true)
	}
	if gc.Interval == nil {
		gc.Interval = &metav1.Duration{Duration: 5 * time.Minute}
	}
	if gc.ConfirmAfter == nil {
		gc.ConfirmAfter = &metav1.Duration{Duration: 30 * time.Second}
	}
	if gc.MaxRemovalFraction == nil {
		gc.MaxRemovalFraction = new(0.5)
	}
	if gc.DryRun == nil {
		gc.DryRun = new(false)
	}
	if openstack.QPS == nil {
		openstack.QPS = new(float32(20))
	}
	if openstack.Burst == nil {
		openstack.Burst = new(int32(40))
	}
	if openstack.Timeout == nil {
		openstack.Timeout = &metav1.Duration{Duration: 30 * time.Second}
	}
	setClusterAPI(&obj.ClusterAPI)
}

func setClusterAPI(obj *ClusterAPIConfiguration) {
	if obj.Enabled == nil {
		obj.Enabled = new(false)
	}
	if obj.Namespaces == nil {
		obj.Namespaces = []string{}
	}
	if obj.DrainTimeout == nil {
		obj.DrainTimeout = &metav1.Duration{Duration: 30 * time.Minute}
	}
	if obj.VerifyTimeout == nil {
		obj.VerifyTimeout = &metav1.Duration{Duration: 4 * time.Hour}
	}
	if obj.RuntimeExtension == nil {
		obj.RuntimeExtension = new(false)
	}
}

// SetDefaults_LocalVolumeConfiguration sets defaults for unset fields.
func SetDefaults_LocalVolumeConfiguration(obj *LocalVolumeConfiguration) {
	if obj.StorageClassNames == nil {
		obj.StorageClassNames = []string{}
	}
	if obj.PVCDeletionDelay == nil {
		obj.PVCDeletionDelay = &metav1.Duration{Duration: time.Minute}
	}
	if obj.UnknownNodeDeletionDelay == nil {
		obj.UnknownNodeDeletionDelay = &metav1.Duration{Duration: time.Hour}
	}
	if obj.StalePVDiscoveryInterval == nil {
		obj.StalePVDiscoveryInterval = &metav1.Duration{Duration: 10 * time.Second}
	}
	if obj.MaxMissingNodeFraction == nil {
		obj.MaxMissingNodeFraction = new(0.55)
	}
	if obj.NodeTopologyKeys == nil {
		obj.NodeTopologyKeys = []string{"kubernetes.io/hostname"}
	}
	if obj.WorkerThreads == nil {
		obj.WorkerThreads = new(int32(10))
	}
	if obj.VolumeSources == nil {
		obj.VolumeSources = []VolumeSource{VolumeSourceLocal}
	}
	if obj.CSIDrivers == nil {
		obj.CSIDrivers = []CSIDriver{}
	}
	if obj.DriverGracePeriod == nil {
		obj.DriverGracePeriod = &metav1.Duration{Duration: 10 * time.Minute}
	}
	for _, option := range []**bool{&obj.DeletePendingPods, &obj.IncludeFailedVolumes, &obj.DeleteVolumesOfUnknownNodes,
		&obj.ReleaseCSIVolumes, &obj.DryRun} {
		if *option == nil {
			*option = new(false)
		}
	}
}
