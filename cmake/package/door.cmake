# door.cmake - installs the scripts of the front door; cmake/package/CMakeLists.txt sets door, source and share.
# The installed program is called rmds, so its texts say "rmds up" where those of the tree say "tools/rmds up".
foreach(file ${door})
  get_filename_component(folder ${file} DIRECTORY)
  file(COPY "${source}/${file}" DESTINATION "${share}/${folder}")
  file(READ "${source}/${file}" text)
  string(REGEX REPLACE "tools[/.]rmds " "rmds " text "${text}")
  file(WRITE "${share}/${file}" "${text}")
endforeach()
