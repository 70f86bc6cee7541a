# Completion in shells and manual pages.  Both come from what --help prints, so that no option is
# written down twice.
set(tools
  "cslc:compiles programs in CSL"
  "wse-emu:runs a program image on an emulated fabric"
  "wse-dbg:debugger for programs in CSL, forward and back in time"
  "wse-model:predicts the cycles of collectives and matrix products"
  "wse-sweep:runs a program for many parameters"
  "csl-fmt:formats programs in CSL"
  "csl-ls:language server for CSL"
  "cs_readelf:shows what a program image contains")

set(manual "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1")
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
set(names)
foreach(tool ${tools})
  string(REGEX MATCH "^[^:]+" name ${tool})
  string(REGEX REPLACE "^[^:]+:" "" description ${tool})
  list(APPEND names ${name})
  # What bash-completion has for programs whose --help lists their options.
  file(CONFIGURE OUTPUT completions/${name} CONTENT "complete -F _longopt ${name}\n")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completions/${name}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  # A program that does not start here, as wse-sweep without Python, has no page.
  install(CODE "
    set(page \"${manual}/${name}.1\")
    execute_process(OUTPUT_FILE \"\${page}\" RESULT_VARIABLE failed COMMAND
      \"${CMAKE_SOURCE_DIR}/cmake/man_page.sh\" \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}\"
      \"${description}\")
    if(failed)
      message(WARNING \"no manual page of ${name}: its --help fails\")
      file(REMOVE \"\${page}\")
    endif()")
endforeach()

list(JOIN names " " names)
file(CONFIGURE OUTPUT _wse CONTENT "#compdef ${names}\n_gnu_generic\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/_wse DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
