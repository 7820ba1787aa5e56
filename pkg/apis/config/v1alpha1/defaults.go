// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefaults_ClientConnectionConfiguration fills in what is left out.
func SetDefaults_ClientConnectionConfiguration(obj *ClientConnectionConfiguration) {
	if obj.QPS == nil {
		obj.QPS = new(float32(500))
	}
	if obj.Burst == nil {
		obj.Burst = new(int32(1000))
	}
}

// SetDefaults_LeaderElectionConfiguration fills in what is left out.
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

// SetDefaults_LogConfiguration fills in what is left out.
func SetDefaults_LogConfiguration(obj *LogConfiguration) {
	if obj.Level == "" {
		obj.Level = LogLevelInfo
	}
	if obj.Format == "" {
		obj.Format = LogFormatJSON
	}
}

// SetDefaults_ServerConfiguration fills in what is left out.
func SetDefaults_ServerConfiguration(obj *ServerConfiguration) {
	if obj.Health.Port == nil {
		obj.Health.Port = new(int32(2718))
	}
}

// SetDefaults_ControllersConfiguration fills in what is left out.
func SetDefaults_ControllersConfiguration(obj *ControllersConfiguration) {
	if obj.Enabled == nil {
		obj.Enabled = []string{"*"}
	}
}

// SetDefaults_ProjectControllerConfiguration fills in what is left out.
func SetDefaults_ProjectControllerConfiguration(obj *ProjectControllerConfiguration) {
	if obj.ConcurrentSyncs == nil {
		obj.ConcurrentSyncs = new(int32(5))
	}
	if obj.Quotas == nil {
		obj.Quotas = []QuotaConfiguration{}
	}
}

// SetDefaults_QuotaConfiguration fills in what is left out.
func SetDefaults_QuotaConfiguration(obj *QuotaConfiguration) {
	if obj.ProjectSelector == nil {
		obj.ProjectSelector = &metav1.LabelSelector{}
	}
}
