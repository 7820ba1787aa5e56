// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/policyparams"
)

// policiesTitle is what status calls the admission policies of the cluster.
const policiesTitle = "Policies"

// policies adds the admission policies that reject every request for kinds of Groundskeeper, because its API server cannot read
// their parameters. They are not in the report when all work.
func (c *command) policies(ctx context.Context, r *report.Report) error {
	config, err := c.config.ClientConfig()
	if err != nil {
		return err
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	problems, err := policyparams.Find(ctx, host, c.client.RESTMapper(), policyparams.Server(host))
	if apierrors.IsForbidden(err) {
		r.Checked = append(r.Checked, report.Checked{Name: policiesTitle,
			Problem: "you are not allowed to check admission policies; select a namespace with -n"})
		return nil
	}
	if err != nil {
		r.Checked = append(r.Checked, report.Checked{Name: policiesTitle,
			Problem: report.OneLine(fmt.Sprintf("check the parameters of admission policies: %s", c.explained(ctx, err)))})
		return nil
	}
	addPolicies(r, problems)
	return nil
}

func addPolicies(r *report.Report, problems []policyparams.Problem) {
	if len(problems) == 0 {
		return
	}
	r.Checked = append(r.Checked, report.Checked{Name: policiesTitle, Count: len(problems)})
	for _, p := range problems {
		r.Findings = append(r.Findings, report.Finding{Kind: policiesTitle, Name: p.Policy, Level: report.Warning, Message: p.Reason})
	}
}
