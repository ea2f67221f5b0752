package symptoms

func nvshmemSymptoms() []Symptom {
	return nil
}
