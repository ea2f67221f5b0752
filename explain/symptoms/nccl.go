package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func ncclSymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-301", Name: "nccl-shared-memory", Title: "NCCL could not make a segment of shared memory",
			Explanation: "Ranks of one node exchange data through files in /dev/shm. Containers have 64 MiB of it " +
				"unless they are told otherwise.",
			Sources:  []string{"NVIDIA/nccl, src/misc/shmutils.cc", "NVIDIA/nccl#290"},
			Standing: evidence.Origin,
			Lines: []Line{
				{
					Name: "shm-create", Program: NCCL, All: []string{"Error while creating shared memory segment"},
					Source: "NVIDIA/nccl, src/misc/shmutils.cc",
				},
				{
					Name: "shm-fallocate", Program: NCCL,
					All:    []string{"Call to posix_fallocate failed", "No space left on device"},
					Source: "NVIDIA/nccl, src/include/shm.h", Speaks: []string{"shm-too-small"},
				},
			},
			Causes: []Cause{
				{
					Slug: "shm-too-small", Title: "/dev/shm is too small, or full", Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Contains: "No space left", Text: "the file system of /dev/shm is full"},
						{Weight: Hint, Field: "errno", Is: []string{"28", "12"}},
					},
					Decide: "df -h /dev/shm in the container, while the job starts",
					Remedy: "--shm-size=16g, or an emptyDir with medium Memory at /dev/shm; delete old nccl-* files",
				},
				{
					Slug: "not-privileged", Title: "the process may not write to /dev/shm", Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Field: "errno", Is: []string{"13", "1"}}},
					Decide: "touch /dev/shm/x as the user of the job", Remedy: "the permissions of /dev/shm",
				},
			},
		},
	}
}
