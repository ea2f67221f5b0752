package lint

func checkPodInitResource(p *pass, pod *pod) {
	for _, c := range pod.initOnly {
		for _, l := range c.limits() {
			if l.prefix != "" && p.ours(l.base) && pod.requested(l.prefix, l.base) == 0 {
				p.error(pod.Object, l.at, "init container %s requests %s, but no container does",
					c.Name, l.name).place(pod.KeyAt(l.at...))
			}
		}
	}
}
