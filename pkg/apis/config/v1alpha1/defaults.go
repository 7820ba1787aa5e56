// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefaults_ClientConnectionConfiguration sets defaults for unset fields.
func SetDefaults_ClientConnectionConfiguration(obj *ClientConnectionConfiguration) {
	obj.QPS = cmp.Or(obj.QPS, new(float32(500)))
	obj.Burst = cmp.Or(obj.Burst, new(int32(1000)))
}

// SetDefaults_LeaderElectionConfiguration sets defaults for unset fields.
func SetDefaults_LeaderElectionConfiguration(obj *LeaderElectionConfiguration) {
	obj.LeaderElect = cmp.Or(obj.LeaderElect, new(true))
	obj.ResourceNamespace = cmp.Or(obj.ResourceNamespace, "groundskeeper-system")
	obj.ResourceName = cmp.Or(obj.ResourceName, "groundskeeper-controller-manager")
	obj.LeaseDuration = cmp.Or(obj.LeaseDuration, &metav1.Duration{Duration: 15 * time.Second})
	obj.RenewDeadline = cmp.Or(obj.RenewDeadline, &metav1.Duration{Duration: 10 * time.Second})
	obj.RetryPeriod = cmp.Or(obj.RetryPeriod, &metav1.Duration{Duration: 2 * time.Second})
}

// SetDefaults_CredentialsConfiguration sets defaults for unset fields.
func SetDefaults_CredentialsConfiguration(obj *CredentialsConfiguration) {
	obj.AllowProxyURL = cmp.Or(obj.AllowProxyURL, new(false))
	obj.AllowPlainHTTP = cmp.Or(obj.AllowPlainHTTP, new(false))
}

// SetDefaults_LogConfiguration sets defaults for unset fields.
func SetDefaults_LogConfiguration(obj *LogConfiguration) {
	obj.Level = cmp.Or(obj.Level, LogLevelInfo)
	obj.Format = cmp.Or(obj.Format, LogFormatJSON)
}

// SetDefaults_TracingConfiguration sets defaults for unset fields.
func SetDefaults_TracingConfiguration(obj *TracingConfiguration) {
	obj.SamplingRatePerMillion = cmp.Or(obj.SamplingRatePerMillion, new(int32(10000)))
}

// SetDefaults_DebuggingConfiguration sets defaults for unset fields.
func SetDefaults_DebuggingConfiguration(obj *DebuggingConfiguration) {
	obj.Enabled = cmp.Or(obj.Enabled, new(false))
	obj.BindAddress = cmp.Or(obj.BindAddress, "127.0.0.1")
	obj.Port = cmp.Or(obj.Port, new(int32(2720)))
}

// SetDefaults_ServerConfiguration sets defaults for unset fields.
func SetDefaults_ServerConfiguration(obj *ServerConfiguration) {
	obj.Health.Port = cmp.Or(obj.Health.Port, new(int32(2718)))
	obj.Webhooks.Port = cmp.Or(obj.Webhooks.Port, new(int32(2719)))
}

// SetDefaults_ObjectMetricsConfiguration sets defaults for unset fields.
func SetDefaults_ObjectMetricsConfiguration(obj *ObjectMetricsConfiguration) {
	obj.Kinds = listOr(obj.Kinds)
	obj.Limit = cmp.Or(obj.Limit, new(int32(1000)))
}

// SetDefaults_CertificatesConfiguration sets defaults for unset fields.
func SetDefaults_CertificatesConfiguration(obj *CertificatesConfiguration) {
	obj.Mode = cmp.Or(obj.Mode, CertificatesSelfManaged)
}

// listOr returns a list or, where it is unset, the default. A list that is set to nothing stays.
func listOr[T any](list []T, fallback ...T) []T {
	if list == nil {
		return append([]T{}, fallback...)
	}
	return list
}

// SetDefaults_ResourceSizeConfiguration sets defaults for unset fields.
func SetDefaults_ResourceSizeConfiguration(obj *ResourceSizeConfiguration) {
	obj.Mode = cmp.Or(obj.Mode, ResourceSizeBlock)
	obj.Limits = listOr(obj.Limits)
	obj.UnrestrictedSubjects = listOr(obj.UnrestrictedSubjects)
}

// SetDefaults_ResourceLimit sets defaults for unset fields.
func SetDefaults_ResourceLimit(obj *ResourceLimit) {
	if len(obj.APIVersions) == 0 {
		obj.APIVersions = []string{"*"}
	}
}
