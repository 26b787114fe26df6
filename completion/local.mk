# bash-completion loads a command's file by the command's name.
completiondir = $(datadir)/bash-completion/completions
dist_completion_DATA = completion/btrec.bash
install-data-hook:
	cd '$(DESTDIR)$(completiondir)' && rm -f btrec btview && ln -s btrec.bash btrec && ln -s btrec.bash btview
uninstall-hook:
	rm -f '$(DESTDIR)$(completiondir)/btrec' '$(DESTDIR)$(completiondir)/btview'
