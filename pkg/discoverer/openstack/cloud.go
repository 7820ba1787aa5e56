// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// rejectionPause is how long rejected credentials are not tried again: Keystone may lock a user who fails too often.
const rejectionPause = time.Minute

// objectProject is what identifies a cloud.
const objectProject = "project"

// Cloud has the requests that are sent to a cloud. A Session is one.
type Cloud interface {
	// Projects lists the projects of the user.
	Projects(ctx context.Context) ([]openstack.Project, error)
	// Identity returns by what the cloud is recognized.
	Identity(ctx context.Context) ([]gimbalv1.ClusterIdentity, error)
	// LoadBalancing returns Octavia as the user may use it in a project.
	LoadBalancing(ctx context.Context, project string) (LoadBalancing, error)
	// Retain discards the clients of all projects that are not to be kept.
	Retain(kept func(project string) bool)
	// Renew discards the token for a project, because it does not include roles that were assigned later.
	Renew(project string)
}

// LoadBalancing has the requests that are sent to Octavia in one project. Each list is whole, or an error.
type LoadBalancing interface {
	LoadBalancers(ctx context.Context) ([]openstack.LoadBalancer, error)
	Listeners(ctx context.Context) ([]openstack.Listener, error)
	Pools(ctx context.Context) ([]openstack.Pool, error)
	Members(ctx context.Context, pool string) ([]openstack.Member, error)
}

// Session is a user of a cloud, who authenticates when that is needed. All of its requests share one rate limit.
type Session struct {
	credentials openstack.Credentials
	options     openstack.Options
	clock       clock.PassiveClock

	mu sync.Mutex
	// client is the one of the project in the credentials, and projects are those of others.
	client     *openstack.Client
	projects   map[string]*openstack.Client
	rejections map[string]rejection // by project, "" for that of the credentials
}

// rejection is a response of Keystone that holds for a while.
type rejection struct {
	err error
	at  time.Time
}

// NewSession returns a user who has not authenticated yet.
func NewSession(credentials openstack.Credentials, options openstack.Options, ticking clock.PassiveClock) *Session {
	return &Session{credentials: credentials, options: options, clock: ticking, projects: map[string]*openstack.Client{},
		rejections: map[string]rejection{}}
}

// Projects implements Cloud.
func (s *Session) Projects(ctx context.Context) (projects []openstack.Project, err error) {
	err = s.unlessRejected("", func() error {
		client, err := s.own(ctx)
		if err == nil {
			projects, err = client.Projects(ctx)
		}
		return err
	})
	return projects, err
}

// Identity implements Cloud: the project of the credentials and the region, which distinguish clouds and their parts. Two users of
// one project see the same.
func (s *Session) Identity(ctx context.Context) (observed []gimbalv1.ClusterIdentity, err error) {
	err = s.unlessRejected("", func() error {
		client, err := s.own(ctx)
		if err == nil {
			observed = []gimbalv1.ClusterIdentity{{Object: objectProject, ID: client.ProjectID() + "/" + client.Region()}}
		}
		return err
	})
	return observed, err
}

// LoadBalancing implements Cloud.
func (s *Session) LoadBalancing(ctx context.Context, project string) (LoadBalancing, error) {
	var client *openstack.Client
	err := s.unlessRejected(project, func() (err error) {
		client, err = s.in(ctx, project)
		return err
	})
	if err != nil {
		return nil, err
	}
	return client.LoadBalancing(), nil
}

// Retain implements Cloud.
func (s *Session) Retain(kept func(project string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for project := range s.projects {
		if !kept(project) {
			delete(s.projects, project)
		}
	}
}

// Renew implements Cloud.
func (s *Session) Renew(project string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.projects, project)
	if s.client != nil && s.client.ProjectID() == project {
		s.client = nil
	}
}

// own returns the client of the project in the credentials.
func (s *Session) own(ctx context.Context) (*openstack.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock() // others would have to authenticate as well
	if s.client != nil {
		return s.client, nil
	}
	client, err := openstack.Connect(ctx, s.credentials, s.options)
	if err == nil {
		s.client = client
	}
	return client, err
}

func (s *Session) in(ctx context.Context, project string) (*openstack.Client, error) {
	own, err := s.own(ctx)
	if err != nil || own.ProjectID() == project {
		return own, err
	}
	s.mu.Lock()
	client := s.projects[project]
	s.mu.Unlock()
	if client != nil {
		return client, nil
	}
	if client, err = own.InProject(ctx, project); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects[project] = client
	return client, nil
}

// unlessRejected sends the request, unless Keystone has just rejected the same.
func (s *Session) unlessRejected(project string, query func() error) error {
	s.mu.Lock()
	last, rejected := s.rejections[project]
	s.mu.Unlock()
	if rejected && s.clock.Since(last.at) < rejectionPause {
		return last.err
	}
	err := query()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rejections, project)
	if openstack.ReasonOf(err) == openstack.ReasonCredentialsRefused {
		s.rejections[project] = rejection{err: err, at: s.clock.Now()}
	}
	return err
}
