// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// reasonNoCredentials means that the Secret of a Kluster has no kubeconfig.
const reasonNoCredentials = "NoCredentials"

// KlusterSummary returns the summary of a Kluster: its cluster and its cloud are reachable, and what the spec requires is
// done and will be possible on its deletion.
func KlusterSummary(k *kubernikusv1.Kluster) Summary {
	v := view{
		generation: k.Generation, observed: k.Status.ObservedGeneration, conditions: k.Status.Conditions,
		terminating: !k.DeletionTimestamp.IsZero(), ready: klusterReady(k),
	}
	if v.terminating {
		return summarize(v, deorbitAspects())
	}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionPaused); c != nil {
		v.paused = c.Message
	}
	return summarize(v, klusterAspects(k))
}

// klusterReady returns the message of a Kluster that is ready. Without a kubeconfig nothing requires an action before the deletion, which
// then cannot check the cluster.
func klusterReady(k *kubernikusv1.Kluster) string {
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionAPIServerReachable)
	if c == nil || c.Reason != reasonNoCredentials || k.Spec.NoCloud {
		return "the cluster is registered, and nothing requires an action"
	}
	var doubts []string
	if k.Spec.Deorbit.UnseenVolumes != kubernikusv1.DeletionPolicyDelete || k.CSIClusterID() == "" {
		doubts = append(doubts, "volumes and snapshots (unless spec.deorbit.unseenVolumes is Delete and spec.cloudProvider.csiClusterID is set)")
	}
	if k.ClusterName() == "" {
		doubts = append(doubts, "load balancers, floating IPs and security groups (unless spec.cloudProvider.clusterName is set)")
	}
	message := "the OpenStack project is registered, and the Secret has no kubeconfig: a deletion does not check the cluster"
	if len(doubts) > 0 {
		message += ", and leaves over its " + strings.Join(doubts, ", and its ")
	}
	return message
}

// SetKluster writes the summary of a Kluster into its conditions. Its times depend on the Kluster before the write.
func SetKluster(k, old *kubernikusv1.Kluster, now time.Time) {
	k.Status.Conditions = replace(k.Status.Conditions, old.Status.Conditions, summaryTypes(), KlusterSummary(k).list(k.Generation, now))
}

// klusterAspects returns the conditions that a Kluster is ready by. NoCredentials is fine where nothing but the cloud was
// registered; reasons of normal operation of Route GC, and a disabled Route GC, are fine.
func klusterAspects(k *kubernikusv1.Kluster) []aspect {
	return []aspect{
		{
			kind: kubernikusv1.ConditionAPIServerReachable, required: true,
			stalled: []string{"SecretMissing", "SecretInvalid", "CredentialsRefused"},
			fine:    []string{reasonNoCredentials},
		},
		{
			kind: kubernikusv1.ConditionOpenStackReachable, required: !k.Spec.NoCloud,
			stalled: []string{"SecretMissing", "CredentialsInvalid", "CredentialsRefused", "NotFound", "CloudChanged", "Forbidden", "ServiceMissing"},
		},
		{
			kind: kubernikusv1.ConditionClusterPermissionsGranted, anyGeneration: true,
			stalled: []string{"PermissionsMissing"},
			fine:    []string{"NotChecked"},
		},
		{
			kind: kubernikusv1.ConditionOpenStackServicesUsable, anyGeneration: true,
			stalled: []string{"Forbidden", "ServiceMissing"},
			fine:    []string{"NotChecked"},
		},
		{
			kind: kubernikusv1.ConditionClusterUnique, anyGeneration: true,
			stalled: []string{"SameCluster"},
			fine:    []string{"SameClusterBackend", "OwnCluster"},
		},
		{
			kind: kubernikusv1.ConditionRoutesClean, anyGeneration: true,
			stalled: []string{"NoServers", "TooManyOrphans", "CIDRConflict", "CloudChanged", "Refused", "CredentialsRefused", "CredentialsInvalid", "Forbidden", "ServiceMissing"},
			fine:    []string{"ConfirmingOrphans", "ChangedMeanwhile", "DryRun", "RouterUnknown", "Paused", "Disabled"},
		},
		{
			kind: kubernikusv1.ConditionAnnounced, required: k.Spec.Discovery != nil && k.Spec.Discovery.Enabled,
			stalled: []string{"NameTaken", "NameInvalid", "SecretMissing", "SecretInvalid", "NoCredentials", "CloudChanged", "Refused", "NotServed"},
		},
		{
			kind: kubernikusv1.ConditionLocalVolumeCleanup, anyGeneration: true,
			stalled: []string{"Forbidden", "NotConfigured", "TooManyNodesMissing", "CleanedElsewhere"},
			fine:    []string{"Stopped", "Paused"},
		},
	}
}

// deorbitAspects returns the condition that reports how far the deletion of a Kluster is.
func deorbitAspects() []aspect {
	return []aspect{{
		kind: kubernikusv1.ConditionDeorbited, anyGeneration: true,
		stalled: []string{
			"OwnCluster", "TerminationProtected", "Paused", "SecretMissing", "SecretInvalid", "NoCredentials", "HostUnknown", "CredentialsRefused",
			"CredentialsInvalid", "Forbidden", "ServiceMissing", "IdentityConflict", "CIDRConflict", "ClusterRefused", "CloudChanged",
			"SameCluster", "IdentityUnknown", "ClusterChanged",
		},
	}}
}
