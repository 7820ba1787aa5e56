// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

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

// SetDefaults_CredentialsConfiguration sets defaults for unset fields.
func SetDefaults_CredentialsConfiguration(obj *CredentialsConfiguration) {
	if obj.AllowProxyURL == nil {
		obj.AllowProxyURL = new(false)
	}
	if obj.AllowPlainHTTP == nil {
		obj.AllowPlainHTTP = new(false)
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
