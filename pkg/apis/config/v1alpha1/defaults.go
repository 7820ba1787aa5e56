// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefaults_ClientConnectionConfiguration sets defaults for unset fields.
func SetDefaults_ClientConnectionConfiguration(obj *ClientConnectionConfiguration) {
	if obj.QPS == nil {
		obj.QPS = new(float32(500))
	}
	if obj.Burst == nil {
		obj.Burst = new(int32(1000))
	}
}

// SetDefaults_LeaderElectionConfiguration sets defaults for unset fields.
func SetDefaults_LeaderElectionConfiguration(obj *LeaderElectionConfiguration) {
	if obj.LeaderElect == nil {
		obj.LeaderElect = new(true)
	}
	if obj.ResourceNamespace == "" {
		obj.ResourceNamespace = "groundskeeper-system"
	}
	if obj.ResourceName == "" {
		obj.ResourceName = "groundskeeper-controller-manager"
	}
	if obj.LeaseDuration == nil {
		obj.LeaseDuration = &metav1.Duration{Duration: 15 * time.Second}
	}
	if obj.RenewDeadline == nil {
		obj.RenewDeadline = &metav1.Duration{Duration: 10 * time.Second}
	}
	if obj.RetryPeriod == nil {
		obj.RetryPeriod = &metav1.Duration{Duration: 2 * time.Second}
	}
}

// SetDefaults_LogConfiguration sets defaults for unset fields.
func SetDefaults_LogConfiguration(obj *LogConfiguration) {
	if obj.Level == "" {
		obj.Level = LogLevelInfo
	}
	if obj.Format == "" {
		obj.Format = LogFormatJSON
	}
}

// SetDefaults_TracingConfiguration sets defaults for unset fields.
func SetDefaults_TracingConfiguration(obj *TracingConfiguration) {
	if obj.SamplingRatePerMillion == nil {
		obj.SamplingRatePerMillion = new(int32(10000))
	}
}

// SetDefaults_DebuggingConfiguration sets defaults for unset fields.
func SetDefaults_DebuggingConfiguration(obj *DebuggingConfiguration) {
	if obj.Enabled == nil {
		obj.Enabled = new(false)
	}
	if obj.BindAddress == "" {
		obj.BindAddress = "127.0.0.1"
	}
	if obj.Port == nil {
		obj.Port = new(int32(2720))
	}
}

// SetDefaults_ServerConfiguration sets defaults for unset fields.
func SetDefaults_ServerConfiguration(obj *ServerConfiguration) {
	if obj.Health.Port == nil {
		obj.Health.Port = new(int32(2718))
	}
	if obj.Webhooks.Port == nil {
		obj.Webhooks.Port = new(int32(2719))
	}
}

// SetDefaults_ObjectMetricsConfiguration sets defaults for unset fields.
func SetDefaults_ObjectMetricsConfiguration(obj *ObjectMetricsConfiguration) {
	if obj.Kinds == nil {
		obj.Kinds = []string{}
	}
	if obj.Limit == nil {
		obj.Limit = new(int32(1000))
	}
}

// SetDefaults_CertificatesConfiguration sets defaults for unset fields.
func SetDefaults_CertificatesConfiguration(obj *CertificatesConfiguration) {
	if obj.Mode == "" {
		obj.Mode = CertificatesSelfManaged
	}
}

// SetDefaults_ResourceSizeConfiguration sets defaults for unset fields.
func SetDefaults_ResourceSizeConfiguration(obj *ResourceSizeConfiguration) {
	if obj.Mode == "" {
		obj.Mode = ResourceSizeBlock
	}
	if obj.Limits == nil {
		obj.Limits = []ResourceLimit{}
	}
	if obj.UnrestrictedSubjects == nil {
		obj.UnrestrictedSubjects = []rbacv1.Subject{}
	}
}

// SetDefaults_ResourceLimit sets defaults for unset fields.
func SetDefaults_ResourceLimit(obj *ResourceLimit) {
	if len(obj.APIVersions) == 0 {
		obj.APIVersions = []string{"*"}
	}
}

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
	for _, option := range []**bool{&obj.DeletePendingPods, &obj.IncludeFailedVolumes, &obj.DeleteVolumesOfUnknownNodes, &obj.ReleaseCSIVolumes, &obj.DryRun} {
		if *option == nil {
			*option = new(false)
		}
	}
}
